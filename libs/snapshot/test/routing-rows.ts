import { FURTHER_ENDPOINTS, weightFields } from '@tollgate/contracts';
import fc from 'fast-check';
import {
  LIMIT_FIELD_SETTINGS,
  OUTPUT_LIMIT_FIELDS,
  UPSTREAM_FIELDS,
  type RoutingRows,
  type UpstreamRow,
} from '../src/index.ts';

/** Is an upstream whose optional fields are omitted. */
export const PLAIN_UPSTREAM: UpstreamRow = {
  id: 1,
  name: 'u',
  protocol: 'openai',
  baseUrl: 'https://x.test/v1',
  authType: 'api_key',
  sealedApiKey: null,
  headers: {},
  connectTimeoutMs: 1,
  firstTokenTimeoutMs: 1,
  idleTimeoutMs: 1,
  totalTimeoutMs: 1,
  maxConcurrency: null,
  stopsBillingOnClose: null,
  endpoints: null,
  passesFileIds: false,
  fields: 'known',
  enabled: true,
  credentials: [],
};

export const id = fc.integer({ min: 1, max: 12 });

export const weight = fc.integer({ min: 0, max: 5_000_000 });

export const limit = fc.option(fc.integer({ min: 1, max: 1_000_000 }), { nil: null });

const timeout = fc.integer({ min: 1, max: 900_000 });

export const model = fc.record({
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
  cachesPrompts: fc.boolean(),
  failover: fc.record(
    { replay: fc.constantFrom('safe' as const, 'always' as const), first_byte_timeout_ms: timeout },
    { requiredKeys: [] },
  ),
});

export const price = fc.record({
  id,
  modelId: id,
  effectiveAtMs: fc.integer({ min: 0, max: 4 }),
  weights: fc.record(weightFields(weight)),
  tiers: fc.array(
    fc.record(
      {
        above_prompt_tokens: fc.integer({ min: 1, max: 300_000 }),
        weights: fc.record(weightFields(weight), { noNullPrototype: true }),
      },
      { noNullPrototype: true },
    ),
    { maxLength: 4 },
  ),
  multipliers: fc.dictionary(fc.constantFrom('speed=fast', 'service_tier=priority'), weight),
  pricePerMillion: fc.nat(),
  isUndeclaredZero: fc.boolean(),
});

const upstream = fc.record({
  id,
  name: fc.string({ maxLength: 20 }),
  protocol: fc.constantFrom('openai' as const, 'anthropic' as const),
  baseUrl: fc.constant('https://api.example.com/v1'),
  authType: fc.constant('api_key' as const),
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
  fields: fc.constantFrom(...UPSTREAM_FIELDS),
  enabled: fc.boolean(),
  credentials: fc.uniqueArray(
    fc.record({
      id: fc.integer({ min: 0, max: 5 }),
      authType: fc.constant('api_key' as const),
      sealed: fc.string({ minLength: 1, maxLength: 9 }),
      weight: fc.integer({ min: 1, max: 1_000 }),
      rpm: limit,
      tpm: limit,
      enabled: fc.boolean(),
    }),
    { selector: (each) => each.id, maxLength: 4 },
  ),
});

export const route = fc.record({
  id,
  modelId: id,
  upstreamId: id,
  upstreamModel: fc.string({ minLength: 1, maxLength: 20 }),
  priority: fc.integer({ min: 0, max: 3 }),
  weight: fc.integer({ min: 1, max: 10 }),
  enabled: fc.boolean(),
  outputLimitField: fc.constantFrom(...LIMIT_FIELD_SETTINGS),
  familyLimitField: fc.constantFrom(...OUTPUT_LIMIT_FIELDS, null),
  familyContextWindow: limit,
  contextWindow: limit,
});

const unique = <T extends { id: number }>(row: fc.Arbitrary<T>) =>
  fc.uniqueArray(row, { selector: (each) => each.id, maxLength: 8 });

export const rows: fc.Arbitrary<RoutingRows> = fc.record({
  models: unique(model),
  prices: unique(price),
  upstreams: unique(upstream),
  routes: unique(route),
  spokenProtocols: fc.constantFrom([], ['vertex'], ['credentials']),
});
