import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { ROOT } from '../checkout.ts';

/** Is the number of events of the bench's streams (bench/src/hotpath/quick-upstream.ts). */
const BENCH_EVENTS = 64;
const BENCH_KEYS = 1_000_000;

const results = z.object({
  at: z.string(),
  sets: z.record(z.string(), z.array(z.object({ name: z.string(), samples: z.array(z.number()) }))),
});

/** Holds what a request costs, as the bench measured it. CPU in microseconds, sizes in bytes. */
export interface Measured {
  nodeJsonUs: number;
  nodeStreamUs: number;
  nodeEventUs: number;
  redisJsonUs: number;
  redisStreamUs: number;
  controlPlaneUs: number;
  postgresUs: number;
  /** Holds what a request leaves in PostgreSQL; null until `npm run bench -- hot-path storage --write storage` has measured it. */
  storage: Storage | null;
  nodeBytes: number;
  /** Is the part of a key in Redis' memory, and `refillSeconds` in the time in which an empty Redis is filled. */
  keyBytes: number;
  refillSecondsPerKey: number;
}
export interface Storage {
  tableBytes: number;
  walBytes: number;
  commits: number;
}

/** Reads the figures that `npm run bench -- --write` kept. It throws when one is missing. */
export function readMeasured(folder = path.join(ROOT, 'bench/results')): Measured {
  const samples = samplesOf(path.join(folder, 'baseline.json'));
  const of = mediansOf(samples);
  const storageFile = path.join(folder, 'storage.json');
  const nodeStreamUs = of('stream in one write: node, CPU a request');
  const eventsUs = of('stream event by event: node, CPU a request') - nodeStreamUs;
  return {
    nodeJsonUs: of('JSON: node, CPU a request'),
    nodeStreamUs,
    nodeEventUs: eventsUs / BENCH_EVENTS,
    redisJsonUs: of('JSON: Redis, CPU a request'),
    redisStreamUs: of('stream event by event: Redis, CPU a request'),
    ...bookingUs(samples),
    storage: existsSync(storageFile) ? storageOf(mediansOf(samplesOf(storageFile))) : null,
    nodeBytes: of('memory of node-1') * 1e6,
    ...ofKeys(mediansOf(samplesOf(path.join(folder, 'keys.json')))),
  };
}

/** Returns the samples of a figure, one each round. */
type Samples = (name: string) => readonly number[];
type Figures = (name: string) => number;

function samplesOf(file: string): Samples {
  const { sets } = results.parse(JSON.parse(readFileSync(file, 'utf8')));
  const samples = new Map(
    Object.values(sets)
      .flat()
      .map((figure) => [figure.name, figure.samples] as const),
  );
  return (name) => {
    const figure = samples.get(name);
    if (figure === undefined) throw new Error(`${file} has no figure "${name}"`);
    return figure;
  };
}

const mediansOf =
  (samples: Samples): Figures =>
  (name) =>
    median(samples(name));

/** Reads the figures of an installation with a million keys. */
function ofKeys(of: Figures): Pick<Measured, 'keyBytes' | 'refillSecondsPerKey'> {
  return {
    keyBytes: (of('1,000,000 keys: memory of redis') * 1e6) / BENCH_KEYS,
    refillSecondsPerKey:
      of('1,000,000 keys: all shards open again after Redis lost its data') / BENCH_KEYS,
  };
}

function storageOf(of: Figures): Storage {
  return {
    tableBytes: of('PostgreSQL: tables and indexes a request'),
    walBytes: of('PostgreSQL: WAL a request'),
    commits: of('PostgreSQL: commits a request'),
  };
}

/**
 * Returns the cost of all processes less node and Redis, shared as control plane and PostgreSQL share it at 100 requests a second. The ratio of a round is of the
 * bare proxy of that round: on a machine whose speed changes, a product of medians is of no round at all.
 */
function bookingUs(samples: Samples): Pick<Measured, 'controlPlaneUs' | 'postgresUs'> {
  const ratios = samples('JSON: all processes');
  const [bare, node, redis] = ['bare proxy', 'node', 'Redis'].map((name) =>
    samples(`JSON: ${name}, CPU a request`),
  );
  const rounds = ratios.map(
    (ratio, round) => ratio * at(bare, round) - at(node, round) - at(redis, round),
  );
  const of = mediansOf(samples);
  const controlPlane = of('100 JSON a second: CPU of control-plane a request');
  const postgres = of('100 JSON a second: CPU of postgres a request');
  const both = median(rounds);
  const share = controlPlane / (controlPlane + postgres);
  return { controlPlaneUs: both * share, postgresUs: both * (1 - share) };
}

function at(samples: readonly number[] | undefined, round: number): number {
  const sample = samples?.[round];
  if (sample === undefined) throw new Error(`round ${round + 1} has not measured all of JSON`);
  return sample;
}

function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [
    sorted[middle - 1 + (sorted.length % 2)],
    sorted[middle],
  ];
  return (low + high) / 2;
}
