import { randomUUIDv7 } from 'node:crypto';
import { startTollgate, type Tollgate, answerWithin } from '@tollgate/harness';
import { shardNames } from '@tollgate/keyspace';
import { Scene } from '../scene.ts';
import { closeBooks } from '../close-books.ts';
import { ConstantLoad, describeEndings } from './constant-load.ts';
import { readNumber, withDatabase, withRedis } from './read-state.ts';
import { inSeconds, promised, quantile, type Order, type Outcome } from './scenario.ts';

const TIMES = 50;
/** One event of a hundred is poison. */
const SOUND_BETWEEN = 100;
const BLOCKED_MAX_MS = 10_000;
const LETTERS_WITHIN_MS = 60_000;
const LARGE_BYTES = 10 * 1_048_576;
const UNKNOWN_ID = 900_000_000;

interface PoisonEvent {
  rid: string;
  delta: string;
  payload: string;
}

/** Lists events that a broken or hostile node could put into an outbox. The large one comes every tenth time. */
const POISONS: readonly ((rid: string) => PoisonEvent)[] = [
  (rid) => ({ rid, delta: 'ten', payload: '{}' }),
  (rid) => ({ rid, delta: '5', payload: '{"kind":' }),
  (rid) => ({
    rid,
    delta: '5',
    payload: JSON.stringify({
      kind: 'withdraw',
      account_id: UNKNOWN_ID,
      subscription_id: UNKNOWN_ID,
      model_id: UNKNOWN_ID,
      withdrawal_id: rid,
    }),
  }),
  (rid) => ({ rid: `not-a-uuid-${rid}`, delta: '5', payload: '{}' }),
];
const LARGE_EACH = 10;

/** Plays T11: among each hundred sound events one cannot be booked. It is set aside, and delays no other. */
export async function poison({ times = TIMES, seed, log }: Order): Promise<Outcome> {
  const tollgate = await startTollgate({ nodes: 2 });
  try {
    const load = new ConstantLoad(await Scene.set(tollgate), { seed });
    const lags: Promise<number>[] = [];
    const poisoned: string[] = [];
    for (let index = 0; index < times; index += 1) {
      await load.untilCompleted(SOUND_BETWEEN);
      poisoned.push(await plant(tollgate, index));
      await load.untilCompleted(1);
      lags.push(
        bookedAfterMs(
          tollgate,
          load.records.findLast(({ ending }) => ending === 'completed')?.rid ?? '',
        ),
      );
      if ((index + 1) % LARGE_EACH === 0)
        log(`${index + 1} poison events among ${describeEndings(load.records)}`);
    }
    const records = await load.stop();
    const lag = await Promise.all(lags);
    const letters = await countLetters(tollgate, poisoned);
    await withDatabase(tollgate.databaseUrl, (database) =>
      database.query('UPDATE usage_dead_letters SET resolved_at = now() WHERE rid = ANY ($1)', [
        poisoned,
      ]),
    );
    const { findings, drainedInMs } = await closeBooks(tollgate, records);
    return {
      figures: [
        ['poison', `${times}, every ${LARGE_EACH}th of ${LARGE_BYTES / 1_048_576} MB`],
        ['requests', describeEndings(records)],
        [
          'booked after',
          `p50 ${inSeconds(quantile(lag, 0.5))}, at most ${inSeconds(Math.max(...lag))}, right after a poison event`,
        ],
        ['drained', inSeconds(drainedInMs)],
      ],
      findings: [
        promised('set aside', 'each poison event is a dead letter, once', {
          compared: times,
          problems: letters === times ? [] : [`${letters} dead letters`],
        }),
        promised(
          'not held up',
          `a sound event behind it is booked within ${inSeconds(BLOCKED_MAX_MS)}`,
          {
            compared: lag.length,
            problems: lag.filter((ms) => ms > BLOCKED_MAX_MS).map((ms) => `after ${inSeconds(ms)}`),
          },
        ),
        ...findings,
      ],
    };
  } finally {
    await tollgate.stop();
  }
}

async function plant({ redisUrl, shards }: Tollgate, index: number): Promise<string> {
  const names = shardNames(shards);
  const make = POISONS[index % POISONS.length];
  const event = make?.(randomUUIDv7()) ?? { rid: '', delta: '', payload: '' };
  const payload =
    index % LARGE_EACH === 0 ? JSON.stringify({ kind: 'x'.repeat(LARGE_BYTES) }) : event.payload;
  await withRedis(redisUrl, (redis) =>
    redis.xadd(
      `{${names[index % names.length]}}:outbox`,
      '*',
      'rid',
      event.rid,
      'seq',
      '0',
      'delta',
      event.delta,
      'payload',
      payload,
    ),
  );
  return event.rid;
}

async function bookedAfterMs({ databaseUrl }: Tollgate, rid: string): Promise<number> {
  const startedAt = Date.now();
  const booked = 'SELECT count(*) AS value FROM usage_events WHERE rid = $1::uuid';
  await answerWithin(
    3 * BLOCKED_MAX_MS,
    async () => (await readNumber(databaseUrl, booked, [rid])) > 0,
  );
  return Date.now() - startedAt;
}

async function countLetters({ databaseUrl }: Tollgate, rids: readonly string[]): Promise<number> {
  const count = (): Promise<number> =>
    readNumber(
      databaseUrl,
      'SELECT count(*) AS value FROM usage_dead_letters WHERE rid = ANY ($1)',
      [rids],
    );
  await answerWithin(LETTERS_WITHIN_MS, async () => (await count()) >= rids.length);
  return count();
}
