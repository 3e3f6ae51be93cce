import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { demoRecordSchema } from '@tollgate/audit';
import {
  createCustomer,
  startTollgate,
  type Tollgate,
  letPass,
  answerWithin,
} from '@tollgate/harness';
import { Scene } from '../scene.ts';
import { closeBooks } from '../close-books.ts';
import { ConstantLoad, describeEndings } from './constant-load.ts';
import { getOnce } from './get-once.ts';
import { inMegabytes, readUse } from './process-use.ts';
import { inSeconds, promised, type Order, type Outcome } from './scenario.ts';
import { describeLatency, measureLatency, unchanged } from './latency-beside.ts';
import { createTarget } from '../create-target.ts';

/** Is the default of `--times`; `--readers` has fewer, as the upstream must fill every buffer between it and each of them at full speed first. */
const SLOW_WRITERS = 400;
const SLOW_READERS = 25;
const CALM_MS = 15_000;
const HEADER_TIMEOUT_MS = 10_000;
const STALL_TIMEOUT_MS = 60_000;
/** Node's own look at its connections, and ours, come at intervals. */
const TOLERANCE_MS = 6_000;
const HEADER_BYTE_EVERY_MS = 1_000;
/** Is far more than any buffer between upstream and client holds. */
const ANSWER_TOKENS = 60_000;
/** A client that got more than this is one of them. */
const OTHERS_TOKENS_MAX = 1_000;
/** Allows for a heap's own breathing, and for what may wait in the node for a client that does not read: a few buffers, not the answer (about 12 MB). */
const MEMORY_ELSE_MAX = 64 * 1_048_576;
const MEMORY_PER_READER_MAX = 256 * 1_024;

/** Allows the time until the last reader stands still and is cut, on a busy machine. */
const READERS_GONE_WITHIN_MS = 180_000;

/** Plays T13: clients that send their headers a byte a second and clients that read nothing, beside others that are served all the while. */
export async function slowClients({
  times = SLOW_WRITERS,
  readers: count = SLOW_READERS,
  seed,
  log,
}: Order): Promise<Outcome> {
  const tollgate = await startTollgate({ nodes: 1 });
  try {
    const load = new ConstantLoad(await Scene.set(tollgate), { seed, clients: 4, pauseMs: 20 });
    const target = await readerTarget(tollgate);
    const pid = tollgate.pidOf('node-1') ?? 0;
    await letPass(CALM_MS, 'the node warms up before it is measured');
    const calm = [
      await measureLatency(tollgate, CALM_MS),
      await measureLatency(tollgate, CALM_MS),
    ] as const;
    const rssBefore = readUse(pid).rssBytes;
    log(`${times} slow writers and ${count} slow readers come`);
    const writers = Array.from({ length: times }, () => writeSlowly(tollgate.nodeUrls[0] ?? ''));
    const readers = Array.from({ length: count }, () =>
      readNothing(tollgate.nodeUrls[0] ?? '', target),
    );
    const measuring = measureLatency(tollgate, CALM_MS).then((beset) => ({
      beset,
      rssBeset: readUse(pid).rssBytes,
    }));
    const [readersCut, { beset, rssBeset }, writersCut] = await Promise.all([
      watchReaders(tollgate, count),
      measuring,
      Promise.all(writers),
    ]);
    for (const reader of readers) reader.destroy();
    log('all of them were cut');
    const records = await load.stop();
    const { findings, drainedInMs } = await closeBooks(tollgate, records);
    const failed = records
      .filter(({ ending }) => ending !== 'completed' && ending !== 'hung_up')
      .map(({ ending, status }) => `${ending}, status ${status}`);
    const growthMax = MEMORY_ELSE_MAX + count * MEMORY_PER_READER_MAX;
    return {
      figures: [
        ['slow writers', `${times}, cut after ${rangeOf(writersCut)}`],
        ['slow readers', `${count}, cut ${rangeOf(readersCut)} after nothing moved any more`],
        [
          'memory of the node',
          `${inMegabytes(rssBefore)} before, ${inMegabytes(rssBeset)} with them`,
        ],
        [
          'others, small request',
          `${calm.map(describeLatency).join(', again ')} before; ${describeLatency(beset)} with them`,
        ],
        ['others, load', describeEndings(records)],
        ['drained', inSeconds(drainedInMs)],
      ],
      findings: [
        promised('others served', 'no other client is refused or cut off', {
          compared: records.length,
          problems: failed,
        }),
        unchanged(calm, beset),
        promised(
          'slow writers',
          `cut when their headers have taken ${inSeconds(HEADER_TIMEOUT_MS)}`,
          {
            compared: times,
            problems: beyond(writersCut, {
              leastMs: HEADER_TIMEOUT_MS,
              mostMs: HEADER_TIMEOUT_MS + TOLERANCE_MS,
            }),
          },
        ),
        promised(
          'slow readers',
          `cut when they have read nothing for ${inSeconds(STALL_TIMEOUT_MS)}`,
          {
            compared: count,
            problems: beyond(readersCut, { mostMs: STALL_TIMEOUT_MS + TOLERANCE_MS }),
          },
        ),
        promised('memory', 'what is not read is not collected', {
          compared: count,
          problems:
            rssBeset - rssBefore > growthMax
              ? [`${inMegabytes(rssBeset - rssBefore)} more, ${inMegabytes(growthMax)} allowed`]
              : [],
        }),
        ...findings,
      ],
    };
  } finally {
    await tollgate.stop();
  }
}

interface ReaderTarget {
  apiKey: string;
  model: string;
}

async function readerTarget(tollgate: Tollgate): Promise<ReaderTarget> {
  const customer = await createCustomer(tollgate, { amount: '1000000' });
  return createTarget(tollgate, { customer, tokens: 500_000_000 });
}

/** Sends a header byte by byte. Resolves with the milliseconds until the server cut the connection; null when it did not. */
function writeSlowly(origin: string): Promise<number | null> {
  const socket = open(origin);
  socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-slow: ');
  const timer = setInterval(() => socket.write('a'), HEADER_BYTE_EVERY_MS);
  socket.resume();
  socket.once('close', () => clearInterval(timer));
  return endOf(socket);
}

/** Asks for a long answer and leaves it in the socket. */
function readNothing(origin: string, { apiKey, model }: ReaderTarget): Socket {
  const body = JSON.stringify({
    model,
    stream: true,
    max_tokens: ANSWER_TOKENS,
    messages: [{ role: 'user', content: `@demo tokens=${ANSWER_TOKENS} delay=0` }],
  });
  const socket = open(origin);
  socket.pause();
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${apiKey}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return socket;
}

/**
 * Returns, by the upstream's own record, for each reader the milliseconds from the moment its answer stopped, held back by a client that does not read,
 * until the node let the upstream go; null = never.
 */
async function watchReaders({ upstreamUrl }: Tollgate, count: number): Promise<(number | null)[]> {
  const moved = new Map<string, { emitted: number; atMs: number; cutAfterMs: number | null }>();
  await answerWithin(READERS_GONE_WITHIN_MS, async () => {
    const record = demoRecordSchema.parse(
      JSON.parse((await getOnce(`${upstreamUrl}/record`)).body),
    );
    for (const { rid, emitted, ending } of record.filter(
      (entry) => entry.emitted > OTHERS_TOKENS_MAX,
    )) {
      const known = moved.get(rid);
      if (!known || known.emitted !== emitted)
        moved.set(rid, { emitted, atMs: Date.now(), cutAfterMs: null });
      else if (ending === 'aborted') known.cutAfterMs ??= Date.now() - known.atMs;
    }
    return (
      moved.size === count && [...moved.values()].every(({ cutAfterMs }) => cutAfterMs !== null)
    );
  });
  const cut = [...moved.values()].map(({ cutAfterMs }) => cutAfterMs);
  return [...cut, ...Array.from({ length: count - cut.length }, () => null)];
}

function open(origin: string): Socket {
  const { hostname, port } = new URL(origin);
  return connect(Number(port), hostname).on('error', () => undefined);
}

function endOf(socket: Socket): Promise<number | null> {
  const startedAt = performance.now();
  return once(socket, 'close', { signal: AbortSignal.timeout(2 * STALL_TIMEOUT_MS) }).then(
    () => performance.now() - startedAt,
    () => {
      socket.destroy();
      return null;
    },
  );
}

/** An answer goes on to fill the last buffers after its client's has stood still: then the cut comes earlier than it seems, never later. */
function beyond(
  cut: readonly (number | null)[],
  { leastMs = 0, mostMs }: { leastMs?: number; mostMs: number },
): string[] {
  return cut
    .filter((after) => after === null || after > mostMs || after < leastMs)
    .map((after) => (after === null ? 'never' : `after ${inSeconds(after)}`));
}

function rangeOf(cut: readonly (number | null)[]): string {
  const values = cut.filter((after) => after !== null);
  return values.length === 0
    ? 'never'
    : `${inSeconds(Math.min(...values))} to ${inSeconds(Math.max(...values))}${values.length < cut.length ? `, ${cut.length - values.length} never` : ''}`;
}
