import type { Finding } from '@tollgate/audit';
import type { ChunkDelays, PacedStream } from './paced-client.ts';
import { inMegabytes } from './process-use.ts';
import { inSeconds, notJudged, promised, promisedOfTime } from './scenario.ts';

const ADDED_P99_MAX_MS = 20;
const LOOP_P99_MAX_MS = 50;
const RSS_PER_STREAM_MAX = 150 * 1_024;
/** A node's own heap grows by some 30 MB under any load: among fewer streams it is most of what each seems to take. */
const MEMORY_JUDGED_FROM_STREAMS = 1_000;

export interface Measured {
  streams: PacedStream[];
  tokens: number;
  openedInMs: number;
  /** Counts the streams that were open when the last one began. */
  openAtOnce: number;
  via: ChunkDelays;
  direct: ChunkDelays;
  rssPerStream: number;
  rssAtPeak: number;
  /** Is the p99 of the event loop's delay from the moment at which all streams were open, from one histogram. */
  loopP99Ms: number;
  /** Is the most since the node started. */
  loopWorstMs: number;
  /** Is the share of one core while all were open. */
  processorShare: number;
  /** Is the share of the time in which the process was ready to run while others had the cores, which a busy machine adds. */
  waitingShare: number;
}

export function figuresOf(
  count: number,
  {
    streams,
    tokens,
    openedInMs,
    openAtOnce,
    via,
    direct,
    rssPerStream,
    rssAtPeak,
    loopP99Ms,
    loopWorstMs,
    processorShare,
    waitingShare,
  }: Measured,
): [string, string][] {
  const ms = (value: number): string => `${value.toFixed(1)} ms`;
  return [
    [
      'streams at once',
      `${openAtOnce.toLocaleString('en')} of ${count.toLocaleString('en')}, ${tokens} chunks each, opened in ${inSeconds(openedInMs)}`,
    ],
    ['whole', streams.filter(({ isWhole }) => isWhole).length.toLocaleString('en')],
    [
      'chunk delay by node',
      `p50 ${ms(via.at(0.5))}, p99 ${ms(via.at(0.99))} (${via.count.toLocaleString('en')} chunks)`,
    ],
    [
      'chunk delay without',
      `p50 ${ms(direct.at(0.5))}, p99 ${ms(direct.at(0.99))} (${direct.count.toLocaleString('en')} chunks)`,
    ],
    ['added', `p50 ${ms(via.at(0.5) - direct.at(0.5))}, p99 ${ms(via.at(0.99) - direct.at(0.99))}`],
    [
      'memory of the node',
      `${inMegabytes(rssAtPeak)}, ${(rssPerStream / 1_024).toFixed(0)} KB a stream`,
    ],
    [
      'processor of the node',
      `${Math.round(100 * processorShare)} % of a core, ${Math.round(100 * waitingShare)} % of the time waiting for one`,
    ],
    ['event loop', `p99 ${ms(loopP99Ms)} late, ${ms(loopWorstMs)} at most since the start`],
  ];
}

export function promisesOf(
  count: number,
  { streams, tokens, via, direct, rssPerStream, loopP99Ms, waitingShare }: Measured,
  booked: number,
): Finding[] {
  const broken = streams.filter((stream) => !stream.isWhole || stream.tokens < tokens);
  const judge = (isKept: boolean, found: string): { compared: number; problems: string[] } => ({
    compared: count,
    problems: isKept ? [] : [found],
  });
  const added = via.at(0.99) - direct.at(0.99);
  return [
    promised('dropped', 'every stream arrives whole', {
      compared: count,
      problems: endings(broken),
    }),
    promised(
      'booked',
      'every stream is charged what the upstream reported',
      judge(booked === count, `${booked} of ${count}`),
    ),
    promisedOfTime(
      'added delay',
      `p99 <= ${ADDED_P99_MAX_MS} ms a chunk`,
      waitingShare,
      judge(added <= ADDED_P99_MAX_MS, `${added.toFixed(1)} ms`),
    ),
    memory(count, rssPerStream),
    promisedOfTime(
      'event loop',
      `p99 <= ${LOOP_P99_MAX_MS} ms late`,
      waitingShare,
      judge(loopP99Ms <= LOOP_P99_MAX_MS, `${loopP99Ms.toFixed(1)} ms`),
    ),
  ];
}

/** Counts the streams that ended in each way; the most frequent way first. */
function endings(broken: readonly PacedStream[]): string[] {
  const counts = new Map<string, number>();
  for (const { status, failure, error } of broken) {
    const ending = `status ${status}, ${failure ?? error ?? 'no error'}`;
    counts.set(ending, (counts.get(ending) ?? 0) + 1);
  }
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .map(([ending, count]) => `${count.toLocaleString('en')} streams: ${ending}`);
}

function memory(count: number, rssPerStream: number): Finding {
  const [name, promise] = ['memory', `<= ${RSS_PER_STREAM_MAX / 1_024} KB a stream`] as const;
  if (count < MEMORY_JUDGED_FROM_STREAMS)
    return notJudged(
      name,
      promise,
      `fewer than ${MEMORY_JUDGED_FROM_STREAMS.toLocaleString('en')} streams say little beside the node's own heap`,
    );
  return promised(name, promise, {
    compared: count,
    problems: rssPerStream > RSS_PER_STREAM_MAX ? [`${(rssPerStream / 1_024).toFixed(0)} KB`] : [],
  });
}
