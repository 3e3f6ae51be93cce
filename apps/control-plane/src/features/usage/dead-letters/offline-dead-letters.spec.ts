import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  jest,
  test,
} from '@jest/globals';
import { eventually } from '@tollgate/harness';
import { DEAD_LETTER_COMMANDS } from '../../../ops/repairs.ts';
import { REDIS } from '../../../platform/redis/redis.module.ts';
import { startControlPlane, type ControlPlane } from '../../../testing/control-plane-under-test.ts';
import { keysOf } from '../../../testing/drift-under-test.ts';
import {
  ledgerOf,
  subscribedAccount,
  usageEvent,
  type EventParts,
} from '../../../testing/ledger-under-test.ts';
import { UsageIngest } from '../ingest/usage-ingest.service.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
beforeAll(async () => {
  plane = await startControlPlane();
  ledger = ledgerOf(plane);
  await ledger.initialiseShards();
}, 60_000);
afterAll(() => plane?.stop());

const subscribed = (): Promise<EventParts> => subscribedAccount(plane, 1_000);
const balanceOf = async ({ account, model }: EventParts): Promise<number> =>
  Number((await ledger.subscription(account, model)).balance);
/** All credits of the ledger are in Redis. */
const isCredited = async ({ account, model }: EventParts): Promise<void> => {
  const { credit_seq } = await ledger.subscription(account, model);
  expect(await ledger.live(account, model)).toMatchObject({ creditSeq: Number(credit_seq) });
};

/** Makes an event whose charge is not what its price version makes of its counts. */
async function deadLetter(parts: EventParts): Promise<number> {
  const event = usageEvent(70, { ...parts, final: { charge: 60 }, delta: 60 });
  await plane.app.get(UsageIngest).ingest([event]);
  const [row] = await ledger.query('SELECT id FROM usage_dead_letters WHERE rid = $1', [event.rid]);
  return Number(row.id);
}

describe('a dead letter, by the program of administrators,', () => {
  const said: string[] = [];
  beforeEach(() => {
    said.length = 0;
    for (const [name, value] of Object.entries(plane.environment)) process.env[name] = value;
    jest.spyOn(process.stdout, 'write').mockImplementation((line) => said.push(String(line)) > 0);
  });
  afterEach(() => {
    jest.restoreAllMocks();
    for (const name of Object.keys(plane.environment)) delete process.env[name];
  });
  const run = async (name: string, ...args: string[]) => {
    await DEAD_LETTER_COMMANDS[name]?.run({ args, isDryRun: false, isConfirmed: false });
    return said.splice(0).map((line) => JSON.parse(line));
  };

  test('is listed, booked and dismissed', async () => {
    const parts = await subscribed();
    const [first, second] = [await deadLetter(parts), await deadLetter(parts)];
    expect(await run('dead-letters')).toEqual(
      expect.arrayContaining([expect.objectContaining({ id: first })]),
    );
    expect(await run('book-dead-letter', String(first), '{"charge":70}')).toMatchObject([
      { resolution: 'booked', resolved_by: null },
    ]);
    expect(await run('dismiss-dead-letter', String(second), 'of a test')).toMatchObject([
      { resolution: 'dismissed' },
    ]);
    await expect(run('book-dead-letter', String(first))).rejects.toThrow(/already resolved/);
    await expect(run('book-dead-letter')).rejects.toThrow('takes ID [FIELDS]');
    expect(await balanceOf(parts)).toBe(930);
  });

  test.each([
    ['whose tokens Redis took', -70],
    ['that Redis never settled', 0],
  ])('is debited once in Redis too: a final %s', async (_what, taken) => {
    const parts = await subscribed();
    await plane.app
      .get(REDIS)
      .hincrby(keysOf(plane, parts.account.id, parts.model.id), 'bal', taken);
    const id = await deadLetter(parts);
    await run('book-dead-letter', String(id), '{"charge":70}');
    await eventually(() => isCredited(parts));
    expect(await balanceOf(parts)).toBe(930);
    expect(await ledger.live(parts.account, parts.model)).toMatchObject({ balance: 930 });
  });

  test.each([
    ['with another SHARDS', { SHARDS: '8' }, 'this installation has 4 shards'],
    ['without Redis', { REDIS_URL: '' }, 'REDIS_URL is not set'],
  ])('is left open %s: nothing could be compared', async (_how, environment, reason) => {
    const parts = await subscribed();
    const id = await deadLetter(parts);
    Object.assign(process.env, environment);
    await expect(run('book-dead-letter', String(id), '{"charge":70}')).rejects.toThrow(reason);
    expect(await balanceOf(parts)).toBe(1_000);
  });
});
