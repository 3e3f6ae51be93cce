import { FURTHER_ENDPOINTS, weightFields } from '@tollgate/contracts';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { toSnapshotRoute } from './compile-snapshot.ts';
import {
  checksumOf,
  compileSnapshot,
  diffSnapshots,
  LIMIT_FIELD_SETTINGS,
  OUTPUT_LIMIT_FIELDS,
  publishSnapshot,
  snapshotDocumentSchema,
  verifySnapshot,
  type RoutingRows,
  type UpstreamRow,
} from './index.ts';

const id = fc.integer({ min: 1, max: 12 });
const weight = fc.integer({ min: 0, max: 5_000_000 });
const limit = fc.option(fc.integer({ min: 1, max: 1_000_000 }), { nil: null });
const timeout = fc.integer({ min: 1, max: 900_000 });
const model = fc.record({
  id,
  name: fc.string({ minLength: 1, maxLength: 30 }),
  displayName: fc.string({ maxLength: 30 }),
  kind: fc.constantFrom('chat' as const, 'embedding' as const),
  ownedBy: fc.string({ maxLength: 20 }),
  createdAtMs: fc.integer({ min: 0, max: 2 ** 42 }),
  aliases: fc.array(fc.string({ minLength: 1, maxLength: 5 }), { maxLength: 2 }),
  contextWindow: limit,
  maxOutputTokens: limit,
  defaultOutputTokens: limit,
  unboundedInputTokens: limit,
  isOnShelf: fc.boolean(),
  readsMoreThanSent: fc.boolean(),
  failover: fc.record(
    { replay: fc.constantFrom('safe' as const, 'always' as const), first_byte_timeout_ms: timeout },
    { requiredKeys: [] },
  ),
});
const price = fc.record({
  id,
  modelId: id,
  effectiveAtMs: fc.integer({ min: 0, max: 4 }),
  weights: fc.record(weightFields(weight)),
  multipliers: fc.dictionary(fc.constantFrom('speed=fast', 'service_tier=priority'), weight),
  isUndeclaredZero: fc.boolean(),
});
const upstream = fc.record({
  id,
  name: fc.string({ maxLength: 20 }),
  protocol: fc.constantFrom('openai' as const, 'anthropic' as const),
  baseUrl: fc.constant('https://api.example.com/v1'),
  sealedApiKey: fc.option(fc.base64String({ maxLength: 20 }), { nil: null }),
  headers: fc.dictionary(fc.stringMatching(/^x-[a-z]{1,6}$/), fc.string({ maxLength: 10 }), {
    maxKeys: 3,
  }),
  connectTimeoutMs: timeout,
  firstTokenTimeoutMs: timeout,
  idleTimeoutMs: timeout,
  totalTimeoutMs: timeout,
  maxConcurrency: limit,
  stopsBillingOnClose: fc.option(fc.boolean(), { nil: null }),
  endpoints: fc.option(fc.subarray([...FURTHER_ENDPOINTS]), { nil: null }),
  passesFileIds: fc.boolean(),
  enabled: fc.boolean(),
});
const route = fc.record({
  id,
  modelId: id,
  upstreamId: id,
  upstreamModel: fc.string({ minLength: 1, maxLength: 20 }),
  priority: fc.integer({ min: 0, max: 3 }),
  weight: fc.integer({ min: 1, max: 10 }),
  enabled: fc.boolean(),
  outputLimitField: fc.constantFrom(...LIMIT_FIELD_SETTINGS),
  familyLimitField: fc.constantFrom(...OUTPUT_LIMIT_FIELDS, null),
  contextWindow: limit,
});
const unique = <T extends { id: number }>(row: fc.Arbitrary<T>) =>
  fc.uniqueArray(row, { selector: (each) => each.id, maxLength: 8 });
const rows: fc.Arbitrary<RoutingRows> = fc.record({
  models: unique(model),
  prices: unique(price),
  upstreams: unique(upstream),
  routes: unique(route),
});

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
      contextWindow: null,
    });
    expect(toSnapshotRoute(row('auto')).output_limit_field).toBe(field);
    expect(toSnapshotRoute(row('max_tokens')).output_limit_field).toBe('max_tokens');
  },
);

describe('verifySnapshot', () => {
  const published = rows.map((each) =>
    publishSnapshot({ version: 3, document: compileSnapshot(each), publishedAtMs: 1 }),
  );

  test('accepts what was published, also after a trip through JSON that reorders keys', () => {
    fc.assert(
      fc.property(published, (each) => {
        const reordered: unknown = JSON.parse(JSON.stringify(each), (_key, value: unknown) =>
          typeof value === 'object' && value !== null && !Array.isArray(value)
            ? Object.fromEntries(Object.entries(value).reverse())
            : value,
        );
        expect(verifySnapshot(reordered)).toEqual({ kind: 'ok', snapshot: each });
      }),
    );
  });

  test('refuses a document with any byte changed', () => {
    const damaged = published.chain((each) => {
      const text = JSON.stringify(each.document);
      return fc.record({
        each: fc.constant(each),
        at: fc.nat(text.length - 1),
        by: fc.integer({ min: 32, max: 126 }),
      });
    });
    fc.assert(
      fc.property(damaged, ({ each, at, by }) => {
        const text = JSON.stringify(each.document);
        const document = tryParse(text.slice(0, at) + String.fromCharCode(by) + text.slice(at + 1));
        // What is no JSON any more never gets this far, and a byte replaced by itself is no change.
        if (document === undefined || isDeepStrictEqual(document, each.document)) return;
        expect(verifySnapshot({ ...each, document })).toMatchObject({ kind: 'refused' });
      }),
      { numRuns: 1_000 },
    );
  });

  test('names an unknown format, a wrong checksum and a wrong shape', () => {
    const snapshot = publishSnapshot({
      version: 1,
      document: compileSnapshot({ models: [], prices: [], upstreams: [], routes: [] }),
      publishedAtMs: 1,
    });
    expect(
      verifySnapshot({ ...snapshot, document: { ...snapshot.document, format: 2 } }),
    ).toMatchObject({ reason: 'format_unknown' });
    expect(verifySnapshot({ ...snapshot, checksum: 'a'.repeat(64) })).toMatchObject({
      reason: 'checksum_mismatch',
    });
    expect(verifySnapshot({ ...snapshot, extra: 1 })).toMatchObject({ reason: 'schema' });
    expect(verifySnapshot('nonsense')).toMatchObject({ reason: 'schema' });
  });
});

describe('diffSnapshots', () => {
  test('finds nothing between equal documents and lists everything that came or went', () => {
    fc.assert(
      fc.property(rows, rows, (a, b) => {
        const [source, target] = [compileSnapshot(a), compileSnapshot(b)];
        const same = diffSnapshots(source, compileSnapshot(a));
        for (const kind of ['models', 'upstreams', 'routes'] as const) {
          expect(same[kind]).toEqual({ added: [], removed: [], changed: [] });
          const { added, removed } = diffSnapshots(source, target)[kind];
          expect(source[kind].length + added.length - removed.length).toBe(target[kind].length);
        }
        const { added } = diffSnapshots(source, target).routes;
        for (const { id, name } of added) {
          const route = target.routes.find((one) => one.id === id);
          const from = target.models.find((one) => one.id === route?.model_id)?.name;
          const to = target.upstreams.find((one) => one.id === route?.upstream_id)?.name;
          expect(name).toBe(`${from} → ${to}`);
        }
      }),
    );
  });

  test('gives the path and both values of a changed field, and of a secret only that it changed', () => {
    const base = {
      id: 1,
      name: 'main',
      protocol: 'openai' as const,
      baseUrl: 'https://api.example.com/v1',
      sealedApiKey: 'old',
      headers: { 'x-a': '1' },
      connectTimeoutMs: 1,
      firstTokenTimeoutMs: 1,
      idleTimeoutMs: 1,
      totalTimeoutMs: 1,
      maxConcurrency: null,
      stopsBillingOnClose: null,
      endpoints: null,
      passesFileIds: false,
      enabled: true,
    };
    const compile = (row: UpstreamRow) =>
      compileSnapshot({ models: [], prices: [], upstreams: [row], routes: [] });
    expect(compile({ ...base, passesFileIds: true }).upstreams[0]?.passes_file_ids).toBe(true);
    expect(compile(base).upstreams[0]).not.toHaveProperty('passes_file_ids');
    const { upstreams } = diffSnapshots(
      compile(base),
      compile({
        ...base,
        headers: { 'x-a': '2', 'x-b': '3' },
        sealedApiKey: 'new',
        maxConcurrency: 4,
      }),
    );
    expect(upstreams.changed).toEqual([
      {
        id: 1,
        name: 'main',
        changes: [
          { path: 'sealed_api_key' },
          { path: 'headers.x-a', from: '1', to: '2' },
          { path: 'headers.x-b', to: '3' },
          { path: 'max_concurrency', from: null, to: 4 },
        ],
      },
    ]);
  });
});

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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
    failover: {},
  };
  const price = {
    id: 1,
    modelId: 1,
    effectiveAtMs: 0,
    weights: weightFields(1),
    multipliers: {},
    isUndeclaredZero: true,
  };
  const compiled = (aliases: string[]) =>
    compileSnapshot({ models: [{ ...row, aliases }], prices: [price], upstreams: [], routes: [] });
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
