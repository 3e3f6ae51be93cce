import {
  mapFields,
  NO_USAGE,
  promptTokensOf,
  TOKEN_FIELDS,
  tokenFields,
  tokenFieldsOf,
  usageOfFinal,
  WEIGHT_FIELDS,
  weightFields,
  type UsageFinal,
} from '@tollgate/contracts';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { chargeOfFinal } from '@tollgate/metering';
import fc from 'fast-check';
import type { EntityManager } from 'typeorm';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { ledger, plane, shareLedgerPlane, worker } from '../../testing/ledger-plane-under-test.ts';
import {
  reapEvent,
  usageEvent,
  withdrawEvent,
  type EventParts,
} from '../../testing/ledger-under-test.ts';
import { brokenRows, CHECKED_NAMES } from './broken-rows.sql.ts';

shareLedgerPlane();

const DAY_MS = 86_400_000;
const CACHED = tokenFieldsOf({ ...NO_USAGE, input: 40, cacheWrite: 30, cacheWrite1h: 20 });

/** Names of the checks that fail once `damage` was done, which is then undone. */
function brokenBy(damage: (tx: EntityManager) => Promise<unknown>): Promise<string[]> {
  return rolledBack(async (tx) => {
    await damage(tx);
    const broken: string[] = [];
    for (const name of CHECKED_NAMES)
      if ((await brokenRows(tx, name)).length > 0) broken.push(name);
    return broken;
  });
}

async function rolledBack<Answer>(act: (tx: EntityManager) => Promise<Answer>): Promise<Answer> {
  // The role of the control plane can change no ledger row.
  const runner = plane.administrator.createQueryRunner();
  await runner.startTransaction();
  try {
    return await act(runner.manager);
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
}

describe('books that close', () => {
  let parts: EventParts;
  const [priority, reaped] = [uuidv7(Date.now()), uuidv7(Date.now())];
  const where = `WHERE rid = '${priority}'`;

  beforeAll(async () => {
    const account = await ledger.account('10');
    const model = await ledger.model('3');
    const buy = (path: '/models/subscribe' | '/models/renew', tokens: number) =>
      plane.call('POST', path, { token: account.token, body: { model_id: model.id, tokens } });
    await buy('/models/subscribe', 1_000);
    const { body: price } = await ledger.asAdmin('POST', '/models/pricing', {
      model_id: model.id,
      price_per_million: '7',
      weight_cache_write: '1.25',
      weight_cache_write_1h: '2',
      multipliers: {
        'service_tier=priority': '1.75',
        'speed=fast': '6',
        'service_tier=scale': '3',
      },
    });
    await buy('/models/renew', 1_001);
    const { id: subscriptionId } = await ledger.subscription(account, model);
    parts = { account, model: { ...model, priceId: price.id }, subscriptionId };
    const final = (rest: Partial<UsageFinal>) => ({ ...CACHED, ...rest });
    // The charge is 40 x 1 + 30 x 1.25 + 20 x 2 = 117.5, times 1.75.
    const premiums = ['service_tier=priority'];
    await worker.process([
      usageEvent(206, { ...parts, rid: priority, final: final({ premiums }) }),
      usageEvent(118, { ...parts, final: final({}) }),
      reapEvent(50, { ...parts, rid: reaped }),
      usageEvent(118, { ...parts, rid: reaped, seq: 1, delta: 68, final: final({}) }),
    ]);
    const closed = await ledger.model('1.5');
    await plane.call('POST', '/models/subscribe', {
      token: account.token,
      body: { model_id: closed.id, tokens: 333 },
    });
    const { id } = await ledger.subscription(account, closed);
    const withdrawalId = await ledger.beginWithdrawal(id);
    await worker.process([
      withdrawEvent(150, { account, model: closed, subscriptionId: id, withdrawalId }),
    ]);
  }, 60_000);

  test('break no rule, with multipliers, tiers of cache writes, purchases at two prices and refunds', async () => {
    expect(await brokenBy(() => Promise.resolve())).toEqual([]);
    // The cost of 333 tokens at 1.5 is 500, of which 150 tokens are 225.2.
    expect(await ledger.query('SELECT cost, refunded FROM token_lots WHERE withdrawn > 0')).toEqual(
      [{ cost: '500', refunded: '225' }],
    );
  });

  test.each([
    ['another multiplier', `SET premiums = '["service_tier=scale"]' ${where}`, 'charges'],
    ['one multiplier too many', `SET premiums = premiums || '["speed=fast"]' ${where}`, 'charges'],
    ['a multiplier that was not applied', `SET charge = 118, delta = 118 ${where}`, 'charges'],
    ['a multiplier that was applied unnamed', `SET premiums = NULL ${where}`, 'charges'],
    ['a premium without a price', `SET premiums = '["speed=warp"]' ${where}`, 'charges'],
    ['premiums that are no list', `SET premiums = '"speed=fast"' ${where}`, 'charges'],
    ['another price version', `SET price_version_id = price_version_id - 1 ${where}`, 'charges'],
    ['a price version that is none', `SET price_version_id = -1 ${where}`, 'charges'],
    [
      'writes for an hour booked as short ones',
      `SET cache_write_tokens = 50, cache_write_1h_tokens = 0 ${where}`,
      'charges',
    ],
    ['an output token that was not charged', `SET output_tokens = 1 ${where}`, 'charges'],
    [
      'a correction that forgets the expired hold',
      `SET delta = charge WHERE rid = '${reaped}' AND seq = 1`,
      'corrections',
    ],
    [
      'a correction of less than the charge',
      `SET delta = delta - 1 WHERE rid = '${reaped}' AND seq = 1`,
      'corrections',
    ],
  ])('%s is found', async (_what, damage, rule) => {
    expect(await brokenBy((tx) => tx.query(`UPDATE usage_events ${damage}`))).toEqual([rule]);
  });

  test.each([
    ['an expired hold that gave tokens back', 'delta = -delta', ['corrections', 'expired_holds']],
    ['an expired hold with a charge of its own', 'charge = delta', ['expired_holds']],
    ['an expired hold after its final', 'seq = 2', ['expired_holds']],
  ])('%s is found', async (_what, damage, rules) => {
    const sql = `UPDATE usage_events SET ${damage} WHERE rid = '${reaped}' AND kind = 'reap'`;
    expect(await brokenBy((tx) => tx.query(sql))).toEqual(rules);
  });

  test.each([
    ['a lot that cost too much', 'cost = cost + 1 WHERE tokens = 1000', ['purchases']],
    ['a lot at the price before', `cost = 3003 WHERE tokens = 1001`, ['purchases']],
    [
      'a lot of more tokens than were sold',
      'tokens = tokens + 1 WHERE tokens = 1000',
      ['purchases'],
    ],
    [
      'a refund of the whole lot instead of what was taken',
      'refunded = cost WHERE refunded > 0',
      ['refunds'],
    ],
    ['a refund that was rounded up', 'refunded = refunded + 1 WHERE refunded > 0', ['refunds']],
    [
      'a refund of a lot of which nothing was withdrawn',
      'refunded = 1 WHERE tokens = 1000',
      ['refunds'],
    ],
    [
      'a refund that the wallet never got',
      'remaining = remaining - 3, withdrawn = withdrawn + 3, refunded = div(cost::numeric * (withdrawn + 3), tokens) WHERE refunded > 0',
      ['token_lots', 'refunds'],
    ],
  ])('%s is found', async (_what, damage, rules) => {
    expect(await brokenBy((tx) => tx.query(`UPDATE token_lots SET ${damage}`))).toEqual(rules);
  });

  test.each([
    [
      'a purchase that the wallet paid otherwise',
      'ledger_entries',
      "amount = amount + sign(amount) FROM ledger_transactions t WHERE t.id = transaction_id AND t.kind = 'renew'",
    ],
    [
      'a lot of other tokens than its credit',
      'token_credits',
      'delta = delta + 1 WHERE delta = 1000',
    ],
  ])('%s is found', async (_what, table, damage) => {
    const broken = await brokenBy(async (tx) => {
      await tx.query("SET LOCAL session_replication_role = 'replica'");
      await tx.query(`UPDATE ${table} SET ${damage}`);
    });
    expect(broken).toContain('purchases');
  });

  test('a refund of the whole lot is found though the wallet got as much', async () => {
    const broken = await brokenBy(async (tx) => {
      await tx.query("SET LOCAL session_replication_role = 'replica'");
      await tx.query('UPDATE token_lots SET refunded = cost WHERE refunded > 0');
      // The entry states 500 micro-units instead of 225.
      await tx.query(
        `UPDATE ledger_entries e SET amount = amount + sign(amount) * 275 FROM ledger_transactions t WHERE t.id = e.transaction_id AND t.kind = 'refund'`,
      );
    });
    expect(broken).toContain('refunds');
  });

  test('the audit of every day looks further back than the one of today', async () => {
    const yesterday = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
    const found = await rolledBack(async (tx) => {
      await tx.query(`UPDATE usage_events SET day = day - 2, charge = charge + 1 ${where}`);
      return [await brokenRows(tx, 'charges'), await brokenRows(tx, 'charges', yesterday)];
    });
    expect(found).toMatchObject([[{ rid: priority, charge: '207', costs: '206' }], []]);
  });
});

test('computes in SQL what nodes and workers compute, for any price, premiums and counts', async () => {
  const weight = fc.oneof(fc.integer({ min: 0, max: 30_000_000 }), fc.constant(1_000_000));
  const premium = fc.constantFrom('service_tier=priority', 'speed=fast', 'server_tools=mcp');
  const finals = fc.record({
    weights: fc.record(weightFields(weight, fc.option(weight, { nil: undefined }))),
    factors: fc.array(fc.integer({ min: 1, max: 9_000_000 }), { minLength: 3, maxLength: 3 }),
    tokens: fc.record(tokenFields(fc.nat(2_000_000))),
    tiers: fc.uniqueArray(
      fc.record({
        around: fc.oneof(fc.constantFrom(-1, 0, 1), fc.integer({ min: -90_000, max: 90_000 })),
        weights: fc.record(weightFields(weight, fc.option(weight, { nil: undefined }))),
      }),
      { maxLength: 4, selector: ({ around }) => around },
    ),
    premiums: fc.option(fc.uniqueArray(premium), { nil: undefined }),
  });
  const model = await ledger.model('1');
  await rolledBack(async (tx) => {
    const rids: string[] = [];
    for (const { weights, factors, tokens, premiums, ...drawn } of fc.sample(finals, 150)) {
      const prompt = promptTokensOf(usageOfFinal(tokens));
      const tiers = drawn.tiers
        .map(({ around, weights: longer }) => ({
          above_prompt_tokens: Math.max(1, prompt + around),
          weights: longer,
        }))
        .toSorted((a, b) => a.above_prompt_tokens - b.above_prompt_tokens);
      const [priority = 1, fast = 1, mcp = 1] = factors;
      const multipliers = {
        'service_tier=priority': priority,
        'speed=fast': fast,
        'server_tools=mcp': mcp,
      };
      const columns = Object.entries(mapFields(WEIGHT_FIELDS, weights, (value) => value ?? null));
      const [price] = await tx.query(
        `INSERT INTO price_versions (model_id, price_per_million, multipliers, tiers, ${columns.map(([name]) => name).join(', ')})
         VALUES ($1, 1, $2, $3, ${columns.map((_, index) => `$${index + 4}`).join(', ')}) RETURNING id`,
        [model.id, multipliers, JSON.stringify(tiers), ...columns.map(([, value]) => value)],
      );
      const charge = chargeOfFinal({ ...tokens, premiums }, { ...weights, multipliers, tiers });
      const rid = uuidv7(Date.now());
      rids.push(rid);
      await tx.query(
        `INSERT INTO usage_events (day, rid, seq, kind, user_id, subscription_id, model_id, price_version_id, delta, charge, premiums, started_at, ${TOKEN_FIELDS.join(', ')})
         VALUES (current_date, $1, 0, 'usage', 1, 1, $2, $3, $4, $4, $5, now(), ${TOKEN_FIELDS.map((name) => tokens[name]).join(', ')})`,
        [rid, model.id, price.id, charge, premiums ? JSON.stringify(premiums) : null],
      );
    }
    expect(await brokenRows(tx, 'charges')).toEqual([]);
    for (const difference of [1, -2]) {
      await tx.query('UPDATE usage_events SET charge = charge + $1', [difference]);
      const found = await tx.query('SELECT count(*) FROM usage_events');
      expect(Number(found[0].count)).toBeGreaterThanOrEqual(rids.length);
      expect(await brokenRows(tx, 'charges')).toHaveLength(100);
    }
  });
}, 60_000);
