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
import { model, rows } from '../test/routing-rows.ts';

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
