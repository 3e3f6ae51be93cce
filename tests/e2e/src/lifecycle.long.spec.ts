import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { auditBooks, describeFindings, isSound } from '@tollgate/audit';
import {
  createCustomer,
  createRoutedModel,
  type Customer,
  type Heard,
  openStream,
  type RoutedModel,
  startTollgate,
  type Tollgate,
  until,
} from '@tollgate/harness';
import { recordOf, settledRows } from './books.ts';

/**
 * An administrator acts while a hundred streams run. Every case gets a customer, a model and a key of its own, all act at the same
 * moment, and the books of the whole installation must close at the end.
 */
const STREAMS_EACH = 10;
/** Streams last 10 s when they are not ended: longer than the wait for the first words and a checkpoint together. */
const TOKENS = 100;
const DELAY_MS = 100;
/** A checkpoint is never further away than 5 s; the rest is for a busy machine. */
const CUT_WITHIN_MS = 6_000;
const BOUGHT = 1_000_000;

interface Case {
  customer: Customer;
  model: RoutedModel;
  key: { id: number; key: string };
}

interface Deed {
  act: (of: Case) => Promise<unknown>;
  /** Says how the running streams end. */
  streams: 'end at the next checkpoint' | 'finish';
  /** Holds the status of the next request. */
  next: number;
}

const call = (method: 'POST' | 'DELETE', path: string, body?: unknown) =>
  tollgate.admin.call(method, path, body);

const DEEDS = {
  'freezing the user': {
    act: ({ customer }) => call('POST', `/users/${customer.id}/freeze`),
    streams: 'end at the next checkpoint',
    next: 403,
  },
  'freezing the user with ?drain=true': {
    act: ({ customer }) => call('POST', `/users/${customer.id}/freeze?drain=true`),
    streams: 'finish',
    next: 403,
  },
  'deleting the user with ?forfeit=true': {
    act: ({ customer }) => call('DELETE', `/users/${customer.id}?forfeit=true`),
    streams: 'end at the next checkpoint',
    next: 401,
  },
  'disabling the key': {
    act: ({ key }) => call('POST', `/keys/${key.id}/disable`),
    streams: 'end at the next checkpoint',
    next: 401,
  },
  'disabling the key with ?drain=true': {
    act: ({ key }) => call('POST', `/keys/${key.id}/disable?drain=true`),
    streams: 'finish',
    next: 401,
  },
  'deleting the key': {
    act: ({ key }) => call('DELETE', `/keys/${key.id}`),
    streams: 'end at the next checkpoint',
    next: 401,
  },
  'taking the model off the shelf': {
    act: ({ model }) => call('POST', `/models/${model.id}/disable`),
    streams: 'finish',
    next: 404,
  },
  'deleting the model with ?refund=true': {
    act: ({ model }) => call('DELETE', `/models/${model.id}?refund=true`),
    streams: 'end at the next checkpoint',
    next: 404,
  },
  unsubscribing: {
    act: ({ customer, model }) =>
      customer.client.call('POST', '/models/unsubscribe', { model_id: model.id }),
    streams: 'end at the next checkpoint',
    next: 404,
  },
  'unsubscribing with ?drain=true': {
    act: ({ customer, model }) =>
      customer.client.call('POST', '/models/unsubscribe?drain=true', { model_id: model.id }),
    streams: 'finish',
    next: 404,
  },
} satisfies Record<string, Deed>;
type DeedName = keyof typeof DEEDS;
const NAMES = Object.keys(DEEDS) as DeedName[];

interface Result {
  heard: Heard[];
  actedAtMs: number;
  nextStatuses: number[];
}

let tollgate: Tollgate;
const cases = new Map<DeedName, Case>();
const results = new Map<DeedName, Result>();

beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 2, env: { CONCURRENCY_PER_SUBSCRIPTION_MAX: '100' } });
  for (const name of NAMES) cases.set(name, await newCase());
  await tollgate.admin.syncAll();
  await Promise.all(
    NAMES.map(async (name) => results.set(name, await play(caseOf(name), DEEDS[name]))),
  );
}, 90_000);
afterAll(() => tollgate?.stop(), 30_000);

async function newCase(): Promise<Case> {
  const customer = await createCustomer(tollgate, { amount: '2' });
  const model = await createRoutedModel(tollgate);
  await customer.client.subscribe({ model_id: model.id, tokens: BOUGHT });
  return { customer, model, key: await customer.client.createKey({ name: 'key' }) };
}

async function play({ customer, model, key }: Case, { act }: Deed): Promise<Result> {
  const streams = Array.from({ length: STREAMS_EACH }, (_, index) =>
    openStream({
      origin: nodeUrl(index),
      key: key.key,
      model: model.name,
      protocol: index % 4 < 2 ? 'chat' : 'messages',
      tokens: TOKENS,
      delayMs: DELAY_MS,
    }),
  );
  await Promise.all(streams.map((stream) => stream.begun));
  await act({ customer, model, key });
  const actedAtMs = Date.now();
  // Routing follows by message, within moments; keys, accounts and subscriptions are read by the very next admission.
  if (act === DEEDS['taking the model off the shelf'].act) await tollgate.admin.syncAll();
  const nextStatuses = await Promise.all(
    [0, 1].map((index) => statusOf({ origin: nodeUrl(index), key: key.key, model: model.name })),
  );
  return {
    heard: await Promise.all(streams.map((stream) => stream.ended)),
    actedAtMs,
    nextStatuses,
  };
}

async function statusOf({
  origin,
  key,
  model,
  prompt = '@demo tokens=1',
}: {
  origin: string;
  key: string;
  model: string;
  prompt?: string;
}): Promise<number> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: prompt }] }),
  });
  await response.text();
  return response.status;
}

const nodeUrl = (index: number): string => tollgate.nodeUrls[index % 2] ?? '';
function caseOf(name: DeedName): Case {
  return cases.get(name) as Case;
}
function resultOf(name: DeedName): Result {
  return results.get(name) as Result;
}

describe.each(NAMES)('%s while streams run', (name) => {
  const { streams, next } = DEEDS[name];

  test('keeps out the next request on every node', () => {
    expect(resultOf(name).nextStatuses).toEqual([next, next]);
  });

  test(
    streams === 'finish'
      ? 'lets them finish'
      : 'ends them at the next checkpoint, in the words of their protocol',
    () => {
      const { heard, actedAtMs } = resultOf(name);
      for (const { ending, words, endedAtMs } of heard) {
        if (streams === 'finish')
          expect({ ending, words }).toEqual({ ending: 'finished', words: TOKENS });
        else {
          expect(ending).toBe('refused');
          expect(words).toBeLessThan(TOKENS);
          expect(endedAtMs - actedAtMs).toBeLessThan(CUT_WITHIN_MS);
        }
      }
    },
  );

  test('charges what was delivered, and no more than was sent', async () => {
    for (const { rid, words } of resultOf(name).heard) {
      const [rows, record] = [await settledRows(tollgate, rid), await recordOf(tollgate, rid)];
      expect(rows).toHaveLength(1);
      const [row] = rows;
      expect(row?.outcome).toBe(streams === 'finish' ? 'completed' : 'access_revoked');
      expect(row?.output_tokens).toBeGreaterThanOrEqual(words);
      expect(row?.output_tokens).toBeLessThanOrEqual(record.emitted);
      expect(row?.charge).toBe((row?.input_tokens ?? 0) + (row?.output_tokens ?? 0));
    }
  });
});

test('money and tokens that were left went where the deed says', async () => {
  const spent = async (name: DeedName): Promise<number> => {
    const rows = await Promise.all(
      resultOf(name).heard.map(({ rid }) => settledRows(tollgate, rid)),
    );
    return rows.flat().reduce((sum, row) => sum + row.charge, 0);
  };
  for (const name of [
    'unsubscribing',
    'unsubscribing with ?drain=true',
    'deleting the model with ?refund=true',
  ] as const) {
    const { customer } = caseOf(name);
    const { balance } = (await customer.client.call('GET', '/wallet')) as { balance: string };
    // The account paid 2 in and bought a million tokens at 1 a million: what is left is 2 less what was used, and refunds never exceed it.
    const left = Math.round(Number(balance) * 1e6);
    const used = await spent(name);
    expect(left).toBeLessThanOrEqual(2_000_000 - used);
    expect(left).toBeGreaterThan(2_000_000 - used - 2 * STREAMS_EACH);
  }
  const forfeited = await tollgate.admin.list(
    `/activity/logs?target_kind=user&target_id=${caseOf('deleting the user with ?forfeit=true').customer.id}&action=user.delete`,
  );
  expect(forfeited).toHaveLength(1);
});

test('auto-recharge serves while the wallet can pay: requests wait for a purchase that is due, and only an empty wallet refuses', async () => {
  const customer = await createCustomer(tollgate, { amount: '0' });
  const { model } = caseOf('disabling the key');
  await customer.client.subscribe({
    model_id: model.id,
    tokens: 0,
    auto_recharge_threshold: 10,
    auto_recharge_amount: 1_000,
  });
  const { key } = await customer.client.createKey({ name: 'key' });
  const ask = (node: number) => statusOf({ origin: nodeUrl(node), key, model: model.name });
  await until(
    'the alert that the wallet is empty',
    async () => (await tollgate.admin.list('/admin/alerts?rule=auto_recharge_failed'))[0],
  );
  expect(await ask(0)).toBe(429);
  // The wallet pays for 1,000 tokens. They are bought at once, or while the request waits.
  await tollgate.admin.adminRecharge({ userId: customer.id, amount: '0.001', note: 'test' });
  expect(await ask(1)).toBe(200);
  expect(await tollgate.admin.list('/admin/alerts?rule=auto_recharge_failed')).toEqual([]);
  // The balance is above the threshold and too low for the next request, which causes the purchase and waits for it.
  const { client } = customer;
  await client.call('POST', '/models/set-auto-recharge', {
    model_id: model.id,
    threshold: 0,
    amount: 200_000,
  });
  await tollgate.admin.adminRecharge({ userId: customer.id, amount: '1', note: 'test' });
  expect(
    await statusOf({
      origin: nodeUrl(1),
      key,
      model: model.name,
      prompt: `@demo tokens=1 ${'word '.repeat(3_000)}`,
    }),
  ).toBe(200);
}, 20_000);

test('the books close: PostgreSQL equals Redis, nothing is held, nothing is on its way', async () => {
  const findings = await auditBooks(tollgate, { drainMs: 10_000 });
  if (!isSound(findings)) throw new Error(describeFindings(findings));
}, 30_000);
