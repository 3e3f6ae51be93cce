import type { Finding } from '@tollgate/audit';
import { startTollgate, type Tollgate, letPass } from '@tollgate/harness';
import { Scene } from '../scene.ts';
import { closeBooks } from '../close-books.ts';
import { ConstantLoad, describeEndings } from './constant-load.ts';
import { inMegabytes, readUse } from './process-use.ts';
import { inSeconds, notJudged, promised, type Order, type Outcome } from './scenario.ts';

const SECONDS = 120;
const CLIENTS = 12;
const MEASURED_MS = 8_000;
const SAMPLE_MS = 2_000;
/** Is the share of the run in which caches, pools and compiled code still grow. */
const WARM_UP_SHARE = 1 / 3;
/** Below an hour a heap's own breathing is more than this a hour. */
const SLOPE_JUDGED_FROM_SECONDS = 3_600;
const SLOPE_MAX_MB_PER_HOUR = 1;
/** Connections come and go by the dozen. */
const FILES_BREATHING = 64;

interface Sample {
  atMs: number;
  rssBytes: number;
  openFiles: number;
}

interface Course {
  name: string;
  first: Sample;
  last: Sample;
  slopeMbPerHour: number;
  /** Counts the most files open at once while it warmed up, and `filesAfter` after that. */
  filesBefore: number;
  filesAfter: number;
}

/** Plays T18: half of what the machine can do, for `--seconds`; memory and open files of every process of ours are watched. */
export async function soak({ seconds = SECONDS, seed, log }: Order): Promise<Outcome> {
  const tollgate = await startTollgate({ nodes: 2, controlPlanes: 2 });
  try {
    const scene = await Scene.set(tollgate);
    const full = new ConstantLoad(scene, { seed, clients: CLIENTS });
    await letPass(MEASURED_MS, 'the full load is measured');
    const fullRecords = await full.stop();
    // A client that waits as long as its requests take asks for half.
    const pauseMs = Math.round((MEASURED_MS * CLIENTS) / fullRecords.length);
    log(
      `${Math.round((fullRecords.length * 1_000) / MEASURED_MS)} requests a second at full load; now half`,
    );
    const load = new ConstantLoad(scene, { seed: seed + 1, clients: CLIENTS, pauseMs });
    const courses = await watch(tollgate, seconds * 1_000);
    const records = [...fullRecords, ...(await load.stop())];
    const { findings, drainedInMs } = await closeBooks(tollgate, records);
    return {
      figures: [
        [
          'duration',
          `${seconds} s at ${Math.round(load.records.length / seconds)} requests a second`,
        ],
        ['requests', describeEndings(records)],
        ...courses.map(
          ({ name, first, last, slopeMbPerHour, filesBefore, filesAfter }): [string, string] => [
            name,
            `${inMegabytes(first.rssBytes)} -> ${inMegabytes(last.rssBytes)}, slope ${slopeMbPerHour.toFixed(1)} MB/h after warming up; open files at most ${filesBefore}, then ${filesAfter}`,
          ],
        ),
        ['drained', inSeconds(drainedInMs)],
      ],
      findings: [
        ...promisesOf(
          courses,
          seconds,
          records.filter(({ ending }) => ending !== 'completed' && ending !== 'hung_up').length,
          records.length,
        ),
        ...findings,
      ],
    };
  } finally {
    await tollgate.stop();
  }
}

async function watch(tollgate: Tollgate, durationMs: number): Promise<Course[]> {
  const names = tollgate.processNames.filter((name) => /^(node|control-plane)/.test(name));
  const samples = new Map<string, Sample[]>(names.map((name) => [name, []]));
  const startedAt = Date.now();
  while (Date.now() < startedAt + durationMs) {
    for (const name of names) {
      const pid = tollgate.pidOf(name);
      if (pid !== undefined)
        samples.get(name)?.push({ atMs: Date.now() - startedAt, ...readUse(pid) });
    }
    await letPass(SAMPLE_MS, 'samples are taken at a steady rate');
  }
  return names.map((name) => courseOf(name, samples.get(name) ?? []));
}

function courseOf(name: string, samples: readonly Sample[]): Course {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last) throw new Error(`${name} was never seen running`);
  const warm = Math.floor(samples.length * WARM_UP_SHARE);
  const most = (some: readonly Sample[]): number =>
    Math.max(...some.map(({ openFiles }) => openFiles));
  return {
    name,
    first,
    last,
    slopeMbPerHour: slopeOf(samples.slice(warm)),
    filesBefore: most(samples.slice(0, warm + 1)),
    filesAfter: most(samples.slice(warm)),
  };
}

/** Fits by least squares, in MB an hour. */
function slopeOf(samples: readonly Sample[]): number {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const [atMean, rssMean] = [
    mean(samples.map(({ atMs }) => atMs)),
    mean(samples.map(({ rssBytes }) => rssBytes)),
  ];
  const covariance = mean(
    samples.map(({ atMs, rssBytes }) => (atMs - atMean) * (rssBytes - rssMean)),
  );
  const variance = mean(samples.map(({ atMs }) => (atMs - atMean) ** 2));
  return variance === 0 ? 0 : ((covariance / variance) * 3_600_000) / 1_048_576;
}

function promisesOf(
  courses: readonly Course[],
  seconds: number,
  failed: number,
  sent: number,
): Finding[] {
  const slope = `grows by less than ${SLOPE_MAX_MB_PER_HOUR} MB an hour`;
  const steep = courses
    .filter(({ slopeMbPerHour }) => slopeMbPerHour >= SLOPE_MAX_MB_PER_HOUR)
    .map(({ name, slopeMbPerHour }) => `${name}: ${slopeMbPerHour.toFixed(1)} MB/h`);
  return [
    promised('served', 'no request fails', {
      compared: sent,
      problems: failed > 0 ? [`${failed} did`] : [],
    }),
    promised('open files', 'no more after warming up than while', {
      compared: courses.length,
      problems: courses
        .filter(({ filesBefore, filesAfter }) => filesAfter > filesBefore + FILES_BREATHING)
        .map(({ name, filesBefore, filesAfter }) => `${name}: ${filesBefore}, then ${filesAfter}`),
    }),
    seconds < SLOPE_JUDGED_FROM_SECONDS
      ? notJudged('memory', slope, `a slope says nothing before ${SLOPE_JUDGED_FROM_SECONDS} s`)
      : promised('memory', slope, { compared: courses.length, problems: steep }),
  ];
}
