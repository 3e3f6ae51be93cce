import { describe, expect, test } from '@jest/globals';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { ledger, plane, worker } from '../../testing/ledger-plane-under-test.ts';
import { reapEvent, usageEvent, type TestAccount } from '../../testing/ledger-under-test.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
/** Returns midnight of today, UTC. */
const todayMs = (): number => Math.floor(Date.now() / DAY_MS) * DAY_MS;

interface Used {
  /** Is in milliseconds before midnight. */
  before: number;
  charge: number;
  output?: number;
}

/** Makes a customer with a key, and requests of the last days that are booked. */
async function customer(...requests: Used[]) {
  const [account, model] = [await ledger.account('10'), await ledger.model('2')];
  const as = <Method extends string, Path extends string>(
    method: Method,
    path: Path,
    body?: unknown,
  ) => plane.call(method, path, { token: account.token, ...(body !== undefined && { body }) });
  await as('POST', '/models/subscribe', { model_id: model.id, tokens: 100_000 });
  const { body: key } = await as('POST', '/keys', { name: 'previewed' });
  const { id: subscriptionId } = await ledger.subscription(account, model);
  const parts = { account, model, subscriptionId, keyId: key.id };
  const bookAt = (atMs: number, { charge, output = 0 }: Used) => {
    const of = { ...parts, rid: uuidv7(atMs) };
    const delta = charge + output;
    const final = { started_at: atMs, output_tokens: output, charge: delta };
    return worker.process([usageEvent(charge, { ...of, delta, final })]);
  };
  for (const one of requests) await bookAt(todayMs() - one.before, one);
  return { account, model, key, as, parts };
}

const asked = async ({ token }: TestAccount, query: string) => {
  const { status, body } = await plane.call('GET', `/previews/budget?${query}`, { token });
  return { status, body };
};

describe('the preview of a budget', () => {
  test('says what yesterday used of it, and which requests came when it was used up', async () => {
    const { account, model } = await customer(
      { before: -1, charge: 9_000 },
      { before: 1, charge: 30 },
      { before: 60 * MINUTE_MS, charge: 40 },
      { before: DAY_MS, charge: 50 },
      { before: DAY_MS + 1, charge: 9_000 },
    );
    const { status, body } = await asked(account, 'unit=charged_tokens&amount=100');
    expect([status, body]).toEqual([
      200,
      {
        ...{ from: new Date(todayMs() - DAY_MS).toISOString() },
        ...{ to: new Date(todayMs()).toISOString(), requests: 3, refused: 1 },
        ...{ used: '120', most: '120', amount: '100' },
      },
    ]);
    const of = async (query: string) => (await asked(account, query)).body;
    expect(await of('unit=charged_tokens&amount=120')).toMatchObject({ refused: 0 });
    expect(await of('unit=requests&amount=1&period=month')).toMatchObject({
      ...{ used: '3', refused: 2 },
    });
    expect(await of('unit=money&amount=0.00018')).toMatchObject({ used: '0.00024', refused: 1 });
    const glob = `${model.name.slice(0, -1)}*`;
    expect(await of(`unit=requests&amount=9&models=x,${glob}`)).toMatchObject({ requests: 3 });
    expect(await of('unit=requests&amount=9&models=x*')).toMatchObject({ requests: 0, used: '0' });
  });

  test('counts what is reported, once for a request that was reaped and corrected', async () => {
    const { account, parts } = await customer({ before: 5, charge: 30, output: 12 });
    const rid = uuidv7(todayMs() - 4);
    const final = { started_at: todayMs() - 4 };
    await worker.process([reapEvent(70, { ...parts, rid })]);
    const { body: reaped } = await asked(account, 'unit=charged_tokens&amount=1');
    expect(reaped).toMatchObject({ requests: 2, used: '112' });
    await worker.process([usageEvent(11, { ...parts, rid, final })]);
    const { body } = await asked(account, 'unit=tokens&amount=1');
    expect(body).toMatchObject({ requests: 2, used: String(30 + 12 + 11), refused: 2 });
  });

  test('of a rolling budget says the most that was in one window', async () => {
    const { account } = await customer(
      ...[600, 598, 590, 300].map((minutes) => ({ before: minutes * MINUTE_MS, charge: 10 })),
    );
    const query = 'unit=charged_tokens&amount=20&period=rolling&window_minutes';
    expect((await asked(account, `${query}=5`)).body).toMatchObject({
      ...{ used: '40', most: '20', refused: 0 },
    });
    expect((await asked(account, `${query}=30`)).body).toMatchObject({ most: '30', refused: 1 });
  });

  test('of a key counts its rotations and no other key, by the day of the given zone', async () => {
    const { as, key, parts, account } = await customer({ before: 5, charge: 30 });
    const { body: other } = await as('POST', '/keys', { name: 'other' });
    const { body: rotated } = await as('POST', `/keys/${key.id}/rotate`);
    const at = { started_at: todayMs() - 4 };
    for (const keyId of [other.id, rotated.id])
      await worker.process([
        usageEvent(7, { ...parts, keyId, rid: uuidv7(at.started_at), final: at }),
      ]);
    const of = async (id: number) =>
      (await asked(account, `unit=charged_tokens&amount=5&key_id=${id}`)).body;
    expect([await of(key.id), await of(rotated.id), await of(other.id)]).toMatchObject([
      { used: '37' },
      { used: '37' },
      { used: '7' },
    ]);
    const { body } = await asked(account, 'unit=requests&amount=5&time_zone=Pacific/Kiritimati');
    // Its midnight is at ten o'clock UTC.
    expect(Date.parse(body.to) % DAY_MS).toBe(10 * 60 * MINUTE_MS);
  });

  test('is refused for what is no budget, and for what is of others', async () => {
    const { account, key } = await customer();
    const stranger = await ledger.account('1');
    expect((await asked(stranger, `unit=requests&amount=5&key_id=${key.id}`)).status).toBe(404);
    expect((await asked(stranger, `unit=requests&amount=5&user_id=${account.id}`)).status).toBe(
      404,
    );
    for (const [query, field] of [
      ['unit=requests&amount=1.5', 'amount'],
      ['unit=requests&amount=-1', 'amount'],
      ['unit=requests&amount=9007199254740993', 'amount'],
      ['unit=requests&amount=1&time_zone=Mars/Olympus', 'time_zone'],
      ['unit=requests&amount=1&period=rolling', 'window_minutes'],
      ['unit=miles&amount=1', 'unit'],
    ] as const)
      expect(await asked(account, query)).toMatchObject({
        ...{ status: 400, body: { errors: [{ field }] } },
      });
  });
});
