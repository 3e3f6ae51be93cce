import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { pinToAll } from '../bench-process.ts';
import { NODE, type BenchInstallation } from '../installation.ts';
import type { CpuClock } from '../cpu.ts';
import { withDatabase } from './database.ts';
import { fillQueue, resumeQueue } from './queue.ts';
import { forEachSubject, type Scene, type Subject } from './scene.ts';

const WORKERS = [1, 2];
const SECONDS = 5;
const CONNECTIONS = 64;
const BOOKING = ['control-plane', 'postgres', 'redis'];
const BOOKING_RECORDS = 60_000;
const SAMPLE_MS = 250;
const STILL_MS = 60_000;
const QUARTERS = 4;

/** Measures several workers behind one port, on all cores. The load, the upstream and everything else share them, so two cores say little. */
export const workers: Scene = async ({ subjects, rounds }) => {
  for (const { installation, figures } of subjects) {
    for (let round = 0; round < rounds; round += 1)
      for (const count of WORKERS) {
        await installation.restartNode({ WORKERS: String(count) });
        pinToAll(installation.pidOf(NODE));
        await installation.load({ connections: CONNECTIONS, seconds: SECONDS });
        const clock = installation.clock(NODE);
        const done = await installation.load({ connections: CONNECTIONS, seconds: SECONDS });
        const micros = clock.lap();
        const name = `${count} worker${count > 1 ? 's' : ''} on ${availableParallelism()} cores`;
        figures.add(`${name}: answered`, 'a second', done.requests / SECONDS);
        figures.add(`${name}: CPU of the node a request`, 'us', micros / done.requests);
        figures.add(`${name}: CPU of the node`, 'cores', micros / SECONDS / 1_000_000);
        await installation.audit();
      }
    await installation.restartNode({ WORKERS: undefined });
  }
};

/** Measures how fast waiting usage is booked. */
export const booking: Scene = async (stage) => {
  for (let round = 0; round < stage.rounds; round += 1)
    await forEachSubject(stage, (subject) => drain(subject, BOOKING_RECORDS));
};

/** Drains a long backlog, and shows whether it is booked as fast at the end as at the beginning. */
export const backlog: Scene = (stage) =>
  forEachSubject(stage, (subject) => drain(subject, stage.sizes.records));

async function drain({ installation, figures }: Subject, records: number): Promise<void> {
  await installation.audit();
  let clocks: { process: string; clock: CpuClock }[] = [];
  const rates = await drainBacklog(installation, records, () => {
    clocks = BOOKING.map((process) => ({ process, clock: installation.clock(process) }));
  });
  const name = `backlog of ${records.toLocaleString('en')} records`;
  const micros = clocks.map(({ clock }) => clock.lap() / records);
  clocks.forEach(({ process }, index) =>
    figures.add(`${name}: CPU of ${process}`, 'us a record', micros[index] ?? 0),
  );
  figures.add(
    `${name}: CPU of all three`,
    'us a record',
    micros.reduce((sum, each) => sum + each, 0),
  );
  rates.forEach((rate, quarter) =>
    figures.add(`${name}: booked, quarter ${quarter + 1}`, 'a second', rate),
  );
  await installation.audit();
}

/** Returns the records a second in each quarter of a backlog. `begins` is called when everything waits. */
export function drainBacklog(
  installation: BenchInstallation,
  records: number,
  begins: () => void,
): Promise<number[]> {
  return withDatabase(installation, async (database) => {
    const before = await booked(database);
    await fillQueue({ installation, database, records });
    begins();
    await resumeQueue(installation);
    return ratesOf(records, async () => (await booked(database)) - before);
  });
}

async function booked(database: Client): Promise<number> {
  const { rows } = await database.query<{ sum: string }>(
    'SELECT coalesce(sum(requests), 0) AS sum FROM usage_totals',
  );
  return Number(rows[0]?.sum);
}

/** Returns the records a second in each quarter of the backlog. Throws when booking makes no progress. */
async function ratesOf(records: number, done: () => Promise<number>): Promise<number[]> {
  const marks = [performance.now()];
  let movedAt = performance.now();
  for (let last = -1; marks.length <= QUARTERS;) {
    await delay(SAMPLE_MS);
    const now = await done();
    if (now > last) movedAt = performance.now();
    else if (performance.now() - movedAt > STILL_MS)
      throw new Error(`booking stands still at ${now} of ${records} records`);
    last = now;
    while (marks.length <= QUARTERS && now >= (records * marks.length) / QUARTERS)
      marks.push(performance.now());
  }
  const quarter = records / QUARTERS;
  return marks.slice(1).map((at, index) => (quarter * 1_000) / (at - (marks[index] as number)));
}
