import {
  demoRecordSchema,
  planRequests,
  randomFrom,
  sendRequest,
  type ClientRecord,
  type Finding,
} from '@tollgate/audit';
import { startTollgate, type Tollgate, answerWithin } from '@tollgate/harness';
import { Scene } from '../scene.ts';
import { closeBooks } from '../close-books.ts';
import { describeEndings } from './constant-load.ts';
import { getOnce } from './get-once.ts';
import { inSeconds, promised, quantile, type Order, type Outcome } from './scenario.ts';

const TIMES = 10_000;
const CLIENTS = 16;
const BYTES_PER_TOKEN = 190;
/** Is slow enough that an upstream which is not closed goes on for seconds. */
const LINGERING = { tokens: 150, delayMs: 40 };
/** Every so many requests one is such a slow one, and its upstream is watched. */
const LINGERING_EACH = 25;
const ABORTED_WITHIN_MS = 1_000;
/** Our own look at the upstream takes its time on a busy machine. */
const LOOK_TOLERANCE_MS = 1_000;
const SEEN_WITHIN_MS = ABORTED_WITHIN_MS + LOOK_TOLERANCE_MS;
/** An answer that is read on is over by then: `STREAM_DRAIN_MS`, and our look. */
const DRAINED_WITHIN_MS = 30_000 + LOOK_TOLERANCE_MS;

/** Holds what becomes of an answer whose client has left: closed where that ends the bill, else read on to its usage. */
type Way = 'closed' | 'read on';

interface Watched {
  ms: number;
  isFinished: boolean;
}

/** Plays T16: clients that all hang up, each at another byte, at an upstream that stops billing on close and at one that does not. It checks that delivered <= charged <= emitted. */
export async function hangUps({ times = TIMES, seed, log }: Order): Promise<Outcome> {
  const tollgate = await startTollgate({ nodes: 2 });
  try {
    const scene = await Scene.set(tollgate);
    const plans = plansOf({ times, seed, scene });
    const records: ClientRecord[] = [];
    const seen: Record<Way, Watched[]> = { closed: [], 'read on': [] };
    for (const way of ['closed', 'read on'] as const) {
      await setWay(tollgate, way);
      const left = (way === 'closed' ? plans.slice(0, times / 2) : plans.slice(times / 2)).values();
      const client = async (): Promise<void> => {
        for (let next = left.next(); !next.done; next = left.next()) {
          const record = await sendRequest(next.value, scene.targetOf(next.value));
          records.push(record);
          const isWatched = next.value.tokens === LINGERING.tokens && record.ending === 'hung_up';
          if (isWatched && record.rid !== null)
            seen[way].push(await watched(tollgate, record.rid, way));
          if (records.length % 1_000 === 0) log(describeEndings(records));
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
    }
    const { findings, drainedInMs } = await closeBooks(tollgate, records);
    return {
      figures: [
        ['requests', describeEndings(records)],
        ['upstream let go', described(seen.closed)],
        ['upstream read on', described(seen['read on'])],
        ['drained', inSeconds(drainedInMs)],
      ],
      findings: [...judged(seen), ...findings],
    };
  } finally {
    await tollgate.stop();
  }
}

function plansOf({ times, seed, scene }: { times: number; seed: number; scene: Scene }) {
  const random = randomFrom(seed ^ 0x4a46);
  return planRequests(2 * times, seed, scene.choices)
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
}

async function setWay({ admin }: Tollgate, way: Way): Promise<void> {
  for (const { id } of await admin.list('/upstreams'))
    await admin.call('PUT', `/upstreams/${String(id)}`, {
      stops_billing_on_close: way === 'closed',
    });
  await admin.syncAll();
}

function judged(seen: Record<Way, Watched[]>): Finding[] {
  return [
    promised(
      'let go',
      `an upstream that stops billing on close is let go within ${inSeconds(SEEN_WITHIN_MS)} (${inSeconds(LOOK_TOLERANCE_MS)} of it for looking)`,
      {
        compared: seen.closed.length,
        problems: seen.closed
          .filter(({ ms }) => ms > SEEN_WITHIN_MS)
          .map(({ ms }) => `after ${ms} ms`),
      },
    ),
    promised('read on', 'any other is read on to the end of its answer', {
      compared: seen['read on'].length,
      problems: seen['read on']
        .filter(({ isFinished }) => !isFinished)
        .map(({ ms }) => `given up after ${ms} ms`),
    }),
  ];
}

function described(seen: readonly Watched[]): string {
  const lateness = seen.map(({ ms }) => ms);
  return `ended after ${quantile(lateness, 0.5)} ms (p50), ${quantile(lateness, 0.99)} ms (p99), ${Math.max(...lateness)} ms at most, of ${lateness.length} watched`;
}

/** Returns the milliseconds from now until the upstream's answer is over, and how. An upstream that has not seen the request yet does not know it either. */
async function watched({ upstreamUrl }: Tollgate, rid: string, way: Way): Promise<Watched> {
  const startedAt = Date.now();
  const longest = way === 'closed' ? 10 * ABORTED_WITHIN_MS : DRAINED_WITHIN_MS;
  const endings = await answerWithin(longest, async () => {
    const entries = demoRecordSchema.parse(
      JSON.parse((await getOnce(`${upstreamUrl}/record?rid=${rid}`)).body),
    );
    const seen = entries.map(({ ending }) => ending);
    return seen.length > 0 && !seen.includes('open') && seen;
  });
  return {
    ms: Date.now() - startedAt,
    isFinished: endings?.every((ending) => ending === 'finished') ?? false,
  };
}
