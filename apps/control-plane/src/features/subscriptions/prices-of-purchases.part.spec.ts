import { describe, expect, jest, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import {
  ledger,
  plane,
  post,
  services,
  subscribed,
  use,
} from './auto-recharge/auto-recharge-under-test.ts';

const WAITING =
  "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
const SET_PRICE =
  'INSERT INTO price_versions (model_id, price_per_million, effective_at) VALUES ($1, 2000000, clock_timestamp())';

/** Answers what `act` does once it waited for the model, of which a price was set meanwhile. */
async function behindPriceOf<Answer>(modelId: number, act: () => Promise<Answer>): Promise<Answer> {
  const begun = await plane.dataSource.transaction(async (tx) => {
    await tx.query('SELECT FROM models WHERE id = $1 FOR UPDATE', [modelId]);
    const waiting = act();
    // The question is asked outside the transaction, which would see the activity of its first look again.
    await eventually(async () =>
      expect(await plane.dataSource.query(WAITING)).toEqual([{ waiting: 1 }]),
    );
    await tx.query(SET_PRICE, [modelId]);
    return { waiting };
  });
  return begun.waiting;
}

describe('a purchase that waited for its lock pays the price in force when it got it', () => {
  test.each(['/models/subscribe', '/models/renew'] as const)('%s', async (path) => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    const body = { model_id: model.id, tokens: 1_000_000 };
    if (path === '/models/renew')
      await post('/models/subscribe', account.token, { ...body, tokens: 0 });
    const { body: bought } = await behindPriceOf(model.id, () => post(path, account.token, body));
    expect(bought.cost).toBe('2');
    expect(await ledger.violations()).toEqual({});
  });

  test('auto-recharge', async () => {
    const one = await subscribed('10', { threshold: 100, amount: 1_000_000 });
    const [service] = services;
    await service?.idle();
    await behindPriceOf(one.model.id, async () => {
      await use(one, 950);
      service?.consider([one.id]);
      await service?.idle();
    });
    await Promise.all(services.map((other) => other.idle()));
    // A thousand tokens cost 0.001 before, a million costs 2 now.
    expect(await ledger.wallet(one.account)).toBe(10_000_000n - 1_000n - 2_000_000n);
  });

  test('no price begins before it is set, though the clock of the control plane is behind', async () => {
    const model = await ledger.model('1');
    const setAt = Date.now();
    const clock = jest
      .spyOn(Date, 'now')
      .mockImplementation(() => performance.timeOrigin + performance.now() - 5_000);
    const { body: price } = await ledger
      .asAdmin('POST', '/models/pricing', {
        ...{ model_id: model.id, price_per_million: 3 },
        effective_at: new Date(setAt - 1_000).toISOString(),
      })
      .finally(() => clock.mockRestore());
    expect(Date.parse(price.effective_at)).toBeGreaterThanOrEqual(setAt);
  });
});
