import {
  sendRequest,
  type ClientRecord,
  type RequestPlan,
  type Target,
  SHORT_CHAT,
} from '@tollgate/audit';
import { startTollgate, letPass } from '@tollgate/harness';
import { Scene } from '../scene.ts';
import { closeBooks } from '../close-books.ts';
import { ConstantLoad, describeEndings } from './constant-load.ts';
import { RedisClock } from '../redis-clock.ts';
import { RedisServers } from '../redis-servers.ts';
import { inSeconds, promised, type Order, type Outcome } from './scenario.ts';
import { createTarget } from '../create-target.ts';

const HOUR_S = 3_600;
const DAY_S = 86_400;
/** Goes forth, back, further back, and forth again: each size in each direction, ending where it began. */
const OFFSETS_S = [HOUR_S, 0, -HOUR_S, 0, DAY_S, 0, -DAY_S, 0];
const BETWEEN_MS = 12_000;
const RPM = 60;
const WINDOW_MS = 60_000;
const BUCKET_MS = 1_000;
const PROBE: RequestPlan = { ...SHORT_CHAT, tokens: 2 };
/** Is long enough that most meet a jump in their middle. */
const LONG: RequestPlan = { ...PROBE, isStream: true, tokens: 100, delayMs: 90 };
const LONG_STREAMS = 6;

/** Plays T10: the clock of Redis jumps an hour and a day, forth and back, under load, streams and a key at its rate limit. */
export async function clock({ times = 1, seed, log }: Order): Promise<Outcome> {
  const redisClock = await RedisClock.make();
  const tollgate = await startTollgate({ nodes: 2, redisEnv: redisClock.env });
  try {
    const scene = await Scene.set(tollgate);
    const servers = new RedisServers(tollgate);
    const limited = await createTarget(tollgate, { key: { rpm: RPM } });
    const load = new ConstantLoad(scene, { seed, clients: 6, pauseMs: 30 });
    const ending = new AbortController();
    const startedAt = Date.now();
    const hammering = hammer(limited, ending.signal);
    const streaming = Array.from({ length: LONG_STREAMS }, (_, index) =>
      repeatStream(
        scene.targetOf({ ...LONG, customer: index % scene.choices.customers }),
        ending.signal,
      ),
    );
    for (const offsetS of Array.from({ length: times }, () => OFFSETS_S).flat()) {
      await letPass(BETWEEN_MS, 'traffic runs at each offset');
      await redisClock.shift(servers, offsetS);
      log(`Redis' clock is ${offsetS} s off; ${describeEndings(load.records)}`);
    }
    // The last jump's window must be over before the key can be judged.
    await letPass(WINDOW_MS + BUCKET_MS, 'the window of the last jump ends');
    const settledAt = Date.now();
    await letPass(BETWEEN_MS, 'the key is used in the next window');
    ending.abort();
    const elapsedMs = Date.now() - startedAt;
    const tries = await hammering;
    const streams = (await Promise.all(streaming)).flat();
    const records = [...(await load.stop()), ...tries.map(({ record }) => record), ...streams];
    const { findings, drainedInMs } = await closeBooks(tollgate, records, { wereCut: true });
    const jumps = times * OFFSETS_S.length;
    const admitted = tries.filter(({ record }) => record.status === 200);
    const admittedMax = RPM * (jumps + Math.ceil(elapsedMs / WINDOW_MS) + 1);
    const failed = load.records
      .filter(({ ending }) => ending !== 'completed' && ending !== 'hung_up')
      .map(({ ending, status }) => `${ending}, status ${status}`);
    return {
      figures: [
        ['jumps', `${jumps} of an hour and a day`],
        ['load', describeEndings(load.records)],
        ['streams across jumps', describeEndings(streams)],
        [
          `key of ${RPM} a minute`,
          `${admitted.length} of ${tries.length} admitted in ${inSeconds(elapsedMs)}, at most ${admittedMax} allowed`,
        ],
        ['drained', inSeconds(drainedInMs)],
      ],
      findings: [
        promised('served', 'no request without a limit is refused or broken', {
          compared: load.records.length,
          problems: failed,
        }),
        promised('rate limit', 'at most one more window for each jump', {
          compared: tries.length,
          problems:
            admitted.length > admittedMax
              ? [`${admitted.length} admitted, ${admittedMax} allowed`]
              : [],
        }),
        promised('limit comes back', 'a window after the last jump the key is served again', {
          compared: tries.length,
          problems: admitted.some(({ sentAtMs }) => sentAtMs > settledAt) ? [] : ['none was'],
        }),
        ...findings,
      ],
    };
  } finally {
    await tollgate.stop();
    redisClock.remove();
  }
}

/** Sends some twenty requests a second. */
async function hammer(
  target: Target,
  signal: AbortSignal,
): Promise<{ sentAtMs: number; record: ClientRecord }[]> {
  const tries = [];
  while (!signal.aborted) {
    tries.push({ sentAtMs: Date.now(), record: await sendRequest(PROBE, target) });
    await letPass(50, 'some twenty requests a second');
  }
  return tries;
}

async function repeatStream(target: Target, signal: AbortSignal): Promise<ClientRecord[]> {
  const records = [];
  while (!signal.aborted) records.push(await sendRequest(LONG, target));
  return records;
}
