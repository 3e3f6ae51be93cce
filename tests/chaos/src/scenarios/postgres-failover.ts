import { randomFrom } from '@tollgate/audit';
import {
  firstPostgres,
  startStandby,
  startTollgate,
  type PostgresServer,
  type Tollgate,
  until,
  letPass,
  answerWithin,
} from '@tollgate/harness';
import { Network } from '../network.ts';
import { Scene } from '../scene.ts';
import { closeBooks } from '../close-books.ts';
import { ConstantLoad, describeEndings } from './constant-load.ts';
import { readNumber, withDatabase } from './read-state.ts';
import { inSeconds, promised, type Order, type Outcome } from './scenario.ts';

const TIMES = 10;
const CALM_REQUESTS = 60;
/** Is the time that a monitor of the servers takes to detect the failure and decide. */
const DECISION_MIN_MS = 5_000;
const DECISION_MAX_MS = 10_000;
const WAIT_MS = 60_000;

interface Failover {
  outageMs: number;
  drainedMs: number;
}

/** Plays the second half of T8: the primary is killed for good, its synchronous replica takes over at another address, and a new replica is made of that. */
export async function postgresFailover({ times = TIMES, seed, log }: Order): Promise<Outcome> {
  const network = new Network();
  const tollgate = await startTollgate({ nodes: 2, controlPlanes: 2, route: network.route });
  let primary = firstPostgres(tollgate.services);
  try {
    const load = new ConstantLoad(await Scene.set(tollgate), { seed, clients: 6, pauseMs: 100 });
    const random = randomFrom(seed ^ 0xfa11);
    const failovers: Failover[] = [];
    for (let round = 1; round <= times; round += 1) {
      const standby = await startStandby(tollgate.services, primary, `postgres-${round + 1}`);
      try {
        await commitOnBoth(primary, standby);
        await load.untilCompleted(CALM_REQUESTS);
        failovers.push(
          await failOver({
            network,
            load,
            primary,
            standby,
            decisionMs: DECISION_MIN_MS + random() * (DECISION_MAX_MS - DECISION_MIN_MS),
          }),
        );
      } finally {
        primary = standby;
      }
      log(
        `failover ${round}: away ${inSeconds(failovers.at(-1)?.outageMs ?? 0)}, backlog booked ${inSeconds(failovers.at(-1)?.drainedMs ?? 0)} later`,
      );
    }
    return await judge({ ...tollgate, databaseUrl: primary.databaseUrl }, load, failovers);
  } finally {
    await primary.process.stop();
    await tollgate.stop();
    await network.close();
  }
}

/** Makes a commit count as acknowledged only once the replica shows it, from here on. */
async function commitOnBoth(
  { databaseUrl }: PostgresServer,
  { name }: PostgresServer,
): Promise<void> {
  await withDatabase(databaseUrl, async (database) => {
    await database.query(`ALTER SYSTEM SET synchronous_standby_names = '"${name}"'`);
    await database.query('ALTER SYSTEM SET synchronous_commit = remote_apply');
    await database.query('SELECT pg_reload_conf()');
  });
  const inStep = `SELECT count(*) AS value FROM pg_stat_replication WHERE application_name = $1 AND sync_state = 'sync' AND state = 'streaming'`;
  await until(
    `${name} follows`,
    async () => (await readNumber(databaseUrl, inStep, [name])) > 0,
    WAIT_MS,
  );
}

async function failOver({
  network,
  load,
  primary,
  standby,
  decisionMs,
}: {
  network: Network;
  load: ConstantLoad;
  primary: PostgresServer;
  standby: PostgresServer;
  decisionMs: number;
}): Promise<Failover> {
  const killedAt = Date.now();
  await primary.process.kill('SIGKILL');
  await letPass(decisionMs, 'an operator decides before the promotion');
  await withDatabase(standby.databaseUrl, (database) => database.query('SELECT pg_promote()'));
  const { hostname: host, port } = new URL(standby.databaseUrl);
  for (const name of network.ways.filter((way) => way.endsWith(' to postgres')))
    network.way(name).leadTo({ host, port: Number(port) });
  const promotedAt = Date.now();
  const backlog = load.records.flatMap(({ ending, rid }) =>
    ending === 'completed' && rid !== null ? [rid] : [],
  );
  const booked = `SELECT count(DISTINCT rid) AS value FROM usage_events WHERE kind = 'usage' AND rid = ANY ($1::uuid[])`;
  // A backlog that is not booked in time is what the audit reports.
  await answerWithin(
    WAIT_MS,
    async () => (await readNumber(standby.databaseUrl, booked, [backlog])) >= backlog.length,
  );
  return { outageMs: promotedAt - killedAt, drainedMs: Date.now() - promotedAt };
}

async function judge(
  tollgate: Tollgate,
  load: ConstantLoad,
  failovers: readonly Failover[],
): Promise<Outcome> {
  const records = await load.stop();
  const { findings } = await closeBooks(tollgate, records);
  const refused = records
    .filter(({ ending }) => ending === 'refused')
    .map(({ status, rid }) => `request ${rid} was answered ${status}`);
  const crashed = tollgate.processNames.filter(
    (name) => name !== 'postgres' && !tollgate.isRunning(name),
  );
  const range = (values: readonly number[]): string =>
    `${inSeconds(Math.min(...values))} to ${inSeconds(Math.max(...values))}`;
  return {
    figures: [
      ['failovers', String(failovers.length)],
      ['PostgreSQL away', range(failovers.map(({ outageMs }) => outageMs))],
      ['backlog booked after', range(failovers.map(({ drainedMs }) => drainedMs))],
      [
        'at most',
        `${Math.max(...failovers.map(({ outageMs, drainedMs }) => drainedMs / outageMs)).toFixed(2)} times the outage`,
      ],
      ['requests', describeEndings(records)],
    ],
    findings: [
      promised('served', 'no request is refused while PostgreSQL is away', {
        compared: records.length,
        problems: refused,
      }),
      promised('backlog', 'booked within twice the outage', {
        compared: failovers.length,
        problems: failovers
          .filter(({ outageMs, drainedMs }) => drainedMs > 2 * outageMs)
          .map(
            ({ outageMs, drainedMs }) =>
              `away ${inSeconds(outageMs)}, booked ${inSeconds(drainedMs)} later`,
          ),
      }),
      promised('survival', 'no process ends by itself', {
        compared: tollgate.processNames.length - 1,
        problems: crashed,
      }),
      ...findings,
    ],
  };
}
