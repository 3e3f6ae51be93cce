import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { pinToAll } from '../bench-process.ts';
import { sumOf } from '../figures.ts';
import { NODE } from '../installation.ts';
import { withDatabase } from './database.ts';
import type { Scene } from './scene.ts';

const WORKERS = [1, 2];
const SECONDS = 5;
const CONNECTIONS = 64;
const SAMPLE_MS = 250;
const STILL_MS = 60_000;
const QUARTERS = 4;

/** What several workers behind one port answer, on all cores. The load, the upstream and everything else share them: two cores say little. */
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

/** A long backlog: usage that waits while the control plane is away, and whether it is booked as fast at the end as at the beginning. */
export const backlog: Scene = async ({ subjects, sizes }) => {
  for (const { installation, figures } of subjects) {
    await installation.audit();
    await withDatabase(installation, async (database) => {
      const before = await booked(database);
      await installation.tollgate.kill('control-plane', 'SIGTERM');
      const load = await installation.load({ seconds: 86_400, requestsMax: sizes.records });
      // A node that keeps 200,000 finals that are not booked takes no further request.
      const requests = load.requests - sumOf(load.refused);
      await installation.restartControlPlane();
      const clock = installation.clock('control-plane', 'postgres');
      const rates = await ratesOf(requests, async () => (await booked(database)) - before);
      const name = `backlog of ${requests.toLocaleString('en')} records`;
      const micros = clock.lap() / requests;
      figures.add(`${name}: CPU of control plane and PostgreSQL`, 'us a record', micros);
      rates.forEach((rate, quarter) =>
        figures.add(`${name}: booked, quarter ${quarter + 1}`, 'a second', rate),
      );
    });
    await installation.audit();
  }
};

async function booked(database: Client): Promise<number> {
  const { rows } = await database.query<{ sum: string }>(
    'SELECT coalesce(sum(requests), 0) AS sum FROM usage_totals',
  );
  return Number(rows[0]?.sum);
}

/** Records a second in each quarter of the backlog. Throws when booking stands still. */
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
