import {
  closeClient,
  planRequests,
  randomFrom,
  sendRequest,
  type ClientRecord,
  type Finding,
} from '@tollgate/audit';
import { startTollgate, type RedisKind, type Tollgate, letPass } from '@tollgate/harness';
import { closeBooks } from './close-books.ts';
import { FaultSchedule, type FaultCount } from './fault-schedule.ts';
import { revive, type FaultKind, type Stage } from './faults.ts';
import { findUncounted } from './limits.ts';
import { Network } from './network.ts';
import { NodeClocks } from './node-clocks.ts';
import { RedisClock } from './redis-clock.ts';
import { RedisServers } from './redis-servers.ts';
import { Scene } from './scene.ts';
import type { Tally } from './tally.ts';

const CONCURRENCY = 24;
/** Is more than any run can send. */
const REQUESTS_PER_SECOND_MAX = 1_000;
const PAUSE_AFTER_FAILURE_MS = 100;
const CHANGE_GAP_MS = 1_500;

export interface ChaosOptions {
  seconds: number;
  seed: number;
  nodes: number;
  controlPlanes: number;
  redis: RedisKind;
  kinds: readonly FaultKind[];
  /** Is the mean time between two faults. */
  gapMs: number;
  log: (line: string) => void;
}

export interface ChaosReport {
  faults: FaultCount[];
  faultCount: number;
  /** Counts the changes that customers and administrators make meanwhile. */
  changes: Scene['changes'];
  tally: Tally;
  findings: Finding[];
  /** Is the time from the last repair until the books were found closed. */
  drainedInMs: number;
}

/** Drives a fresh installation while faults strike its parts, repairs everything, waits until all usage is booked, and compares the ledger with the upstream's own record. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const network = new Network();
  const clock = options.kinds.includes('clock') ? await RedisClock.make() : undefined;
  const nodeClocks = new NodeClocks();
  const tollgate = await startTollgate({
    nodes: options.nodes,
    controlPlanes: options.controlPlanes,
    redis: options.redis,
    route: async (process, services) =>
      nodeClocks.env(process, await network.route(process, services)),
    ...(clock && { redisEnv: clock.env }),
  });
  try {
    return await strikeAndAudit({ tollgate, network, clock, nodeClocks }, options);
  } finally {
    closeClient();
    await tollgate.stop();
    await network.close();
    clock?.remove();
    nodeClocks.remove();
  }
}

async function strikeAndAudit(
  { tollgate, network, clock, nodeClocks }: Omit<Stage, 'servers' | 'random'>,
  { seconds, seed, kinds, gapMs, log }: ChaosOptions,
): Promise<ChaosReport> {
  const scene = await Scene.set(tollgate);
  await scene.limit();
  const random = randomFrom(seed);
  const servers = new RedisServers(tollgate);
  // Requests between a cut that takes the limits of a key and their repetition would count in none of its budgets.
  await servers.rewriteFiles();
  const startedAt = Date.now();
  const until = startedAt + seconds * 1_000;
  const note = (line: string): void =>
    log(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s  ${line}`);
  const schedule = new FaultSchedule(
    { tollgate, network, servers, clock, nodeClocks, random },
    { kinds, gapMs, log: note },
  );
  const [clients] = await Promise.all([
    drive(scene, { seconds, seed, until }),
    schedule.run(until),
    change(scene, { seed, until }),
  ]);
  for (const name of tollgate.processNames) await revive(tollgate, name);
  for (const name of servers.names) await servers.whole(name);
  note('everything runs again; waiting for the books');
  const { findings, sums, drainedInMs } = await closeBooks(tollgate, clients, { wereKilled: true });
  return {
    faults: schedule.counts,
    faultCount: schedule.total,
    changes: scene.changes,
    tally: sums,
    findings: [...findings, await findUncounted(tollgate), survival(tollgate, schedule)],
    drainedInMs,
  };
}

async function drive(
  scene: Scene,
  { seconds, seed, until }: { seconds: number; seed: number; until: number },
): Promise<ClientRecord[]> {
  const plans = planRequests(seconds * REQUESTS_PER_SECOND_MAX, seed, scene.choices).values();
  const records: ClientRecord[] = [];
  const client = async (): Promise<void> => {
    for (const plan of plans) {
      if (Date.now() >= until) return;
      const record = await sendRequest(plan, scene.targetOf(plan));
      records.push(record);
      if (['refused', 'broken', 'unreached'].includes(record.ending))
        await letPass(PAUSE_AFTER_FAILURE_MS, 'a client pauses after a failure');
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, client));
  return records;
}

async function change(
  scene: Scene,
  { seed, until }: { seed: number; until: number },
): Promise<void> {
  const random = randomFrom(seed ^ 0xc4ed17);
  while (Date.now() < until) {
    await scene.changeOne(random);
    await letPass(CHANGE_GAP_MS, 'changes are spread over the run');
  }
}

function survival({ processNames }: Tollgate, { crashes }: FaultSchedule): Finding {
  return {
    name: 'survival',
    promise: 'no process ends but by a kill',
    compared: processNames.length,
    problems: crashes,
  };
}
