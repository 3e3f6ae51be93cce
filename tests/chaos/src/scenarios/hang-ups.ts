import { setTimeout as delay } from 'node:timers/promises';
import {
  demoRecordSchema,
  planRequests,
  randomFrom,
  sendRequest,
  type ClientRecord,
} from '@tollgate/audit';
import { startTollgate, type Tollgate } from '@tollgate/harness';
import { Scene } from '../scene.ts';
import { closeBooks } from '../close-books.ts';
import { describeEndings } from './constant-load.ts';
import { getOnce } from './get-once.ts';
import { inSeconds, promised, quantile, type Order, type Outcome } from './scenario.ts';

const TIMES = 10_000;
const CLIENTS = 16;
const BYTES_PER_TOKEN = 190;
/** So slow that an upstream which is not let go would go on for seconds. */
const LINGERING = { tokens: 150, delayMs: 40 };
/** Every so many requests one is such a slow one, and its upstream is watched. */
const LINGERING_EACH = 25;
const ABORTED_WITHIN_MS = 1_000;
/** Our own look at the upstream takes its time on a busy machine. */
const LOOK_TOLERANCE_MS = 1_000;
const SEEN_WITHIN_MS = ABORTED_WITHIN_MS + LOOK_TOLERANCE_MS;

/** T16: clients that all hang up, each at another byte. The upstream is let go, and delivered <= charged <= emitted. */
export async function hangUps({ times = TIMES, seed, log }: Order): Promise<Outcome> {
  const tollgate = await startTollgate({ nodes: 2 });
  try {
    const scene = await Scene.set(tollgate);
    const random = randomFrom(seed ^ 0x4a46);
    const plans = planRequests(2 * times, seed, scene.choices)
      .filter(({ protocol }) => protocol !== 'embeddings')
      .slice(0, times)
      .map((plan, index) => {
        const isLingering = index % LINGERING_EACH === 0;
        const tokens = isLingering ? LINGERING.tokens : plan.tokens;
        return {
          ...plan,
          isStream: true,
          tokens,
          delayMs: isLingering ? LINGERING.delayMs : 1 + Math.floor(random() * 3),
          hangUpAtByte: Math.floor(random() * (isLingering ? 10 : tokens) * BYTES_PER_TOKEN),
        };
      });
    const left = plans.values();
    const records: ClientRecord[] = [];
    const lateness: number[] = [];
    const client = async (): Promise<void> => {
      for (let next = left.next(); !next.done; next = left.next()) {
        const record = await sendRequest(next.value, scene.targetOf(next.value));
        records.push(record);
        if (
          record.ending === 'hung_up' &&
          record.rid !== null &&
          next.value.tokens === LINGERING.tokens
        )
          lateness.push(await abortedAfterMs(tollgate, record.rid));
        if (records.length % 1_000 === 0) log(describeEndings(records));
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    const { findings, drainedInMs } = await closeBooks(tollgate, records);
    const late = lateness.filter((ms) => ms > SEEN_WITHIN_MS);
    return {
      figures: [
        ['requests', describeEndings(records)],
        [
          'upstream let go',
          `after ${quantile(lateness, 0.5)} ms (p50), ${quantile(lateness, 0.99)} ms (p99), ${Math.max(...lateness)} ms at most, of ${lateness.length} watched`,
        ],
        ['drained', inSeconds(drainedInMs)],
      ],
      findings: [
        promised(
          'let go',
          `the upstream is seen to be let go within ${inSeconds(SEEN_WITHIN_MS)} (${inSeconds(LOOK_TOLERANCE_MS)} of it for looking)`,
          { compared: lateness.length, problems: late.map((ms) => `after ${ms} ms`) },
        ),
        ...findings,
      ],
    };
  } finally {
    await tollgate.stop();
  }
}

/** Milliseconds from now until the upstream knows that nobody listens. One that has not seen the request yet does not know it either. */
async function abortedAfterMs({ upstreamUrl }: Tollgate, rid: string): Promise<number> {
  const startedAt = Date.now();
  for (;;) {
    const entries = demoRecordSchema.parse(
      JSON.parse((await getOnce(`${upstreamUrl}/record?rid=${rid}`)).body),
    );
    const elapsedMs = Date.now() - startedAt;
    if (
      (entries.length > 0 && entries.every(({ ending }) => ending !== 'open')) ||
      elapsedMs > 10 * ABORTED_WITHIN_MS
    )
      return elapsedMs;
    await delay(10);
  }
}
