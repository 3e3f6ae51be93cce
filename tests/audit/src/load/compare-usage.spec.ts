import { tokenFields, weightFields } from '@tollgate/contracts';
import { expect, test } from '@jest/globals';
import type { RecordEntry } from '@tollgate/demo-upstream';
import { compareUsage, type Witnesses } from './compare-usage.ts';
import { SHORT_CHAT, type RequestPlan } from './plan-requests.ts';
import type { ClientRecord } from './client-record.ts';
import type { UsageRow } from './usage-rows.ts';

const RID = '01890000-0000-7000-8000-000000000001';
const PLAN: RequestPlan = { ...SHORT_CHAT, isStream: true, tokens: 20 };
const CLIENT: ClientRecord = {
  plan: PLAN,
  rid: RID,
  status: 200,
  ending: 'completed',
  deliveredTokens: 20,
  recentTokens: 5,
};
const ENTRY: RecordEntry = {
  rid: RID,
  protocol: 'chat',
  mode: 'ok',
  isDirected: true,
  isStream: true,
  emitted: 20,
  promptTokens: 10,
  reported: { prompt: 10, output: 20 },
  ending: 'finished',
};
const tokensOf = (tokens: Partial<UsageRow['tokens']>): UsageRow['tokens'] => ({
  ...tokenFields(0),
  ...tokens,
});
const ROW: UsageRow = {
  rid: RID,
  subscription_id: 1,
  delta: 30,
  charge: 30,
  outcome: 'completed',
  basis: 'reported',
  tokens: tokensOf({ input_tokens: 10, output_tokens: 20 }),
  premiums: [],
  price: {
    ...weightFields(1_000_000, undefined),
    weight_cache_write_1h: 2_000_000,
    multipliers: { 'service_tier=priority': 1_750_000, 'service_tier=scale': 3_000_000 },
    tiers: [],
  },
};
/** A node that died before it had the upstream's last report books ten of fifteen tokens. */
const SHORT: UsageRow = {
  ...ROW,
  delta: 25,
  charge: 25,
  outcome: 'node_lost',
  basis: 'estimated',
  tokens: tokensOf({ input_tokens: 10, output_tokens: 15 }),
};

/** Returns the names of the checks that found something. */
function broken({
  client = CLIENT,
  entries = [ENTRY],
  row = ROW,
  ...disturbance
}: { client?: ClientRecord; entries?: RecordEntry[]; row?: UsageRow } & Partial<
  Pick<Witnesses, 'wereKilled' | 'wereCut'>
>): string[] {
  const findings = compareUsage({
    clients: [client],
    provider: entries,
    usage: new Map([[RID, row]]),
    wereKilled: false,
    ...disturbance,
  });
  return findings.filter(({ problems }) => problems.length > 0).map(({ name }) => name);
}

test('a stream that a balance or a budget ended is charged between what was delivered and what was emitted', () => {
  const row: UsageRow = { ...SHORT, outcome: 'balance_exhausted' };
  const client = { ...CLIENT, deliveredTokens: 15 };
  expect(broken({ client, row })).toEqual([]);
  expect(broken({ client: { ...client, deliveredTokens: 26 }, row })).toEqual(['exhausted']);
  expect(broken({ client, row: { ...row, delta: 31, charge: 31 } })).toEqual(['exhausted']);
});

test('a request whose client saw its end is charged what the upstream reported, also by a node that was killed', () => {
  expect(broken({})).toEqual([]);
  expect(broken({ row: SHORT })).toEqual(['completed']);
  expect(broken({ row: SHORT, wereKilled: true })).toEqual(['completed']);
  expect(broken({ row: { ...ROW, delta: 31 }, wereKilled: true })).toEqual(['completed']);
});

test('a report is missed unless the upstream itself may have died with it', () => {
  const entries = [{ ...ENTRY, reported: null }];
  expect(broken({ entries })).toEqual(['completed']);
  expect(broken({ entries, wereKilled: true })).toEqual([]);
});

test('an answer that breaks off is a fault unless something was cut or killed, and only a killed node may lose its last moments', () => {
  const client = { ...CLIENT, ending: 'broken' } as const;
  expect(broken({ client })).toEqual(['broken off']);
  expect(broken({ client, wereCut: true })).toEqual([]);
  const late = { ...ROW, delta: 17, charge: 17, tokens: tokensOf({ output_tokens: 17 }) };
  expect(broken({ client, row: late, wereCut: true })).toEqual(['broken off']);
  expect(broken({ client, row: late, wereKilled: true })).toEqual([]);
  const unseen = { ...client, deliveredTokens: 5 };
  const lost = { ...SHORT, delta: 0, charge: 0, tokens: tokensOf({}) };
  expect(broken({ client: unseen, row: lost, wereKilled: true })).toEqual([]);
});

test('a cut excuses neither a charge the upstream knows nothing of nor a request without an answer', () => {
  expect(
    broken({ client: { ...CLIENT, ending: 'refused', rid: null }, entries: [], wereCut: true }),
  ).toEqual(['nothing invented']);
  expect(broken({ client: { ...CLIENT, ending: 'unreached', rid: null }, wereCut: true })).toEqual([
    'unreached',
  ]);
  expect(
    broken({ client: { ...CLIENT, ending: 'unreached', rid: null }, wereKilled: true }),
  ).toEqual([]);
});

test('a dearer service is charged by the multiplier that was asked for, and by no other', () => {
  const client = { ...CLIENT, plan: { ...PLAN, isPremium: true } };
  const charged = (charge: number, ...premiums: string[]) => ({
    ...ROW,
    charge,
    delta: charge,
    premiums,
  });
  expect(broken({ client, row: charged(53, 'service_tier=priority') })).toEqual([]);
  expect(broken({ client, row: charged(30) })).toEqual(['completed']);
  expect(broken({ client, row: charged(90, 'service_tier=scale') })).toEqual(['completed']);
  expect(broken({ row: charged(53, 'service_tier=priority') })).toEqual(['completed']);
});

test('every class is charged by its own weight', () => {
  const classes = {
    input_tokens: 4,
    cache_read_tokens: 2,
    cache_write_tokens: 2,
    cache_write_1h_tokens: 2,
    output_tokens: 20,
    reasoning_tokens: 4,
  };
  const entries = [{ ...ENTRY, reported: { prompt: 10, output: 20, classes } }];
  const row = { ...ROW, charge: 32, delta: 32, tokens: tokensOf(classes) };
  expect(broken({ entries, row })).toEqual([]);
  expect(broken({ entries, row: { ...row, charge: 30, delta: 30 } })).toEqual(['completed']);
  expect(broken({ entries })).toEqual(['completed']);
});

test('an answer that is in no books is missed, but for a probe of a node, which no client asked for', () => {
  const other = { ...ENTRY, rid: '01939c1e-0000-7000-8000-000000000002' };
  expect(broken({ entries: [ENTRY, other] })).toEqual(['nothing lost']);
  expect(broken({ entries: [ENTRY, { ...other, isDirected: false }] })).toEqual([]);
});

test('a run in the background that its client cancelled is charged what it read, and at most its limit', () => {
  const plan = { ...PLAN, protocol: 'responses' } as const;
  const client = { ...CLIENT, plan, ending: 'hung_up' } as const;
  const charged = (output: number) => ({ ...ROW, delta: 10 + output, charge: 10 + output });
  expect(broken({ client, row: charged(200) })).toEqual([]);
  expect(broken({ client, row: charged(201) })).toEqual(['hung up']);
  expect(broken({ client, row: charged(9) })).toEqual(['hung up']);
  expect(broken({ client: { ...client, plan: PLAN }, row: charged(21) })).toEqual(['hung up']);
});
