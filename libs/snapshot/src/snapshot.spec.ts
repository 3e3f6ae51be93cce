import { weightFields } from '@tollgate/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { toSnapshotRoute } from './compile-snapshot.ts';
import {
  checksumOf,
  compileSnapshot,
  publishSnapshot,
  snapshotDocumentSchema,
  verifySnapshot,
} from './index.ts';
import { model, PLAIN_UPSTREAM, rows } from '../test/routing-rows.ts';

describe('compileSnapshot', () => {
  test('gives one checksum for the same rows, whatever order the rows came in', () => {
    const shuffled = rows.chain((each) => {
      const shuffle = <T>(list: readonly T[]) =>
        fc.shuffledSubarray([...list], { minLength: list.length });
      return fc
        .record({
          models: shuffle(each.models),
          prices: shuffle(each.prices),
          upstreams: shuffle(each.upstreams),
          routes: shuffle(each.routes),
          spokenProtocols: fc.constant(each.spokenProtocols),
        })
        .map((other) => [each, other] as const);
    });
    fc.assert(
      fc.property(shuffled, ([a, b]) => {
        expect(checksumOf(compileSnapshot(b))).toBe(checksumOf(compileSnapshot(a)));
      }),
    );
  });

  test('always makes a document the schema accepts, whose routes lead somewhere', () => {
    fc.assert(
      fc.property(rows, (each) => {
        const document = snapshotDocumentSchema.parse(compileSnapshot(each));
        for (const entry of document.routes) {
          expect(document.models.map((m) => m.id)).toContain(entry.model_id);
          expect(document.upstreams.map((u) => u.id)).toContain(entry.upstream_id);
        }
      }),
    );
  });

  test.each([
    ['without further ones as earlier nodes read it', [], [0], undefined, 'own'],
    ['while a node cannot share requests, with its own alone', [], [0, 4], undefined, 'own'],
    ['once all nodes can, with all that are enabled', ['credentials'], [0, 4], [0, 4], 'own'],
    ['with one that is not its own, named', ['credentials'], [4], [4], null],
    ['not while a node can use none of them', [], [4], null, null],
  ] as const)('has an upstream %s', (_, spokenProtocols, ids, published, own) => {
    const credential = (id: number, enabled = true) => ({
      ...{ id, enabled, weight: 2, authType: 'api_key' as const, rpm: null, tpm: null },
      sealed: id === 0 ? 'own' : `sealed-${id}`,
    });
    const credentials = [credential(9, false), ...ids.map((id) => credential(id))];
    const sealedApiKey = ids.some((id) => id === 0) ? 'own' : null;
    const { upstreams } = compileSnapshot({
      models: [],
      prices: [],
      upstreams: [{ ...PLAIN_UPSTREAM, sealedApiKey, credentials }],
      routes: [],
      spokenProtocols,
    });
    const [upstream] = upstreams;
    if (published === null) return expect(upstreams).toEqual([]);
    expect(upstream?.sealed_api_key).toBe(own);
    expect(upstream?.credentials?.map(({ id }) => id)).toEqual(published);
  });

  test.each([
    [['credentials'], [{ id: 0, rpm: 60, tpm: 9_000 }]],
    [[], undefined],
  ])(
    'has declared limits of a credential once all nodes know them: %j',
    (spokenProtocols, expected) => {
      const own = { id: 0, enabled: true, weight: 1, authType: 'api_key' as const, sealed: 'own' };
      const credentials = [{ ...own, rpm: 60, tpm: 9_000 }];
      const [upstream] = compileSnapshot({
        ...{ models: [], prices: [], routes: [], spokenProtocols },
        upstreams: [{ ...PLAIN_UPSTREAM, sealedApiKey: 'own', credentials }],
      }).upstreams;
      expect(upstream?.sealed_api_key).toBe('own');
      if (expected) expect(upstream?.credentials).toMatchObject(expected);
      else expect(upstream?.credentials).toBeUndefined();
    },
  );

  test('puts the later made of two prices with one moment last, so that it is in force', () => {
    const at = {
      modelId: 1,
      effectiveAtMs: 5,
      weights: weightFields(1),
      multipliers: {},
      tiers: [],
      pricePerMillion: 1_000_000,
      isUndeclaredZero: false,
    };
    const models = fc.sample(model, 1).map((only) => ({ ...only, id: 1 }));
    const document = compileSnapshot({
      models,
      prices: [
        { ...at, id: 9 },
        { ...at, id: 2 },
      ],
      upstreams: [],
      routes: [],
      spokenProtocols: [],
    });
    expect(document.models[0]?.prices.map((version) => version.id)).toEqual([2, 9]);
  });
});

test.each([
  ['max_completion_tokens', 'max_completion_tokens'],
  ['max_tokens', 'max_tokens'],
  [null, 'max_tokens'],
] as const)(
  'the output limit of a family with %s goes into %s unless an administrator says otherwise',
  (familyLimitField, field) => {
    const row = (outputLimitField: 'auto' | 'max_tokens') => ({
      id: 1,
      modelId: 1,
      upstreamId: 1,
      upstreamModel: 'm',
      priority: 0,
      weight: 1,
      enabled: true,
      outputLimitField,
      familyLimitField,
      familyContextWindow: null,
      contextWindow: null,
    });
    expect(toSnapshotRoute(row('auto')).output_limit_field).toBe(field);
    expect(toSnapshotRoute(row('max_tokens')).output_limit_field).toBe('max_tokens');
  },
);

test('aliases stand in the document of the model that has them; without any it is the document it was before there were aliases', () => {
  const row = {
    id: 1,
    name: 'm',
    aliases: ['n'],
    displayName: 'm',
    kind: 'chat' as const,
    ownedBy: 'o',
    createdAtMs: 0,
    contextWindow: null,
    maxOutputTokens: null,
    defaultOutputTokens: null,
    unboundedInputTokens: null,
    isOnShelf: true,
    readsMoreThanSent: false,
    cachesPrompts: false,
    failover: {},
  };
  const price = {
    id: 1,
    modelId: 1,
    effectiveAtMs: 0,
    weights: weightFields(1),
    multipliers: {},
    tiers: [],
    pricePerMillion: 1_000_000,
    isUndeclaredZero: true,
  };
  const compiled = (aliases: string[]) =>
    compileSnapshot({
      models: [{ ...row, aliases }],
      prices: [price],
      upstreams: [],
      routes: [],
      spokenProtocols: [],
    });
  expect(compiled(['n']).models[0]?.aliases).toEqual(['n']);
  expect(compiled([]).models[0]).not.toHaveProperty('aliases');
  expect(compiled([]).models[0]).not.toHaveProperty('failover');
  for (const document of [compiled(['n']), compiled([])])
    expect(
      verifySnapshot(
        JSON.parse(JSON.stringify(publishSnapshot({ version: 1, document, publishedAtMs: 0 }))),
      ).kind,
    ).toBe('ok');
});
