import { silenceLogs } from '../../../apps/control-plane/src/testing/silence-logs.ts';
import { Violation } from './violation.ts';
import { bookLetters } from './book-letters.ts';
import { checkEnd, isQuiet } from './end-checks.ts';
import { drawFaults, type Fault } from './fault-plan.ts';
import { STRIKES } from './faults.ts';
import type { Truth } from './truth.ts';
import { startWorkload } from './workload.ts';
import { SHIPPED, World, type Parts } from './world.ts';

export interface RunOptions {
  seed: number;
  /** Are drawn from the seed unless they are given. */
  faults?: readonly Fault[];
  parts?: Parts;
  /** Bounds the simulated time before the rest of the work comes to its end. */
  forMs?: number;
}

export interface RunResult {
  seed: number;
  steps: number;
  requests: number;
  faults: readonly Fault[];
  traceHash: string;
  /** Is null when every promise was kept. */
  violation: string | null;
  /** Lists balances in Redis that the reconciliation had to repair. */
  repairs: readonly { what: string; step: number }[];
  /** Counts purchases of auto-recharge. */
  recharges: number;
  /** Counts requests that waited for a purchase, by how that ended. */
  waits: Truth['waits'];
}

const RUN_MS = 90_000;
const FAULTS_MAX = 16;
/** Everything must have come to its end by then: the longest interval between two tries is five minutes. */
const QUIET_WITHIN_MS = 20 * 60_000;
const LOOK_EVERY_MS = 5_000;

function faultsOf(seed: number, forMs = RUN_MS): Fault[] {
  const random = new World(seed).random('faults');
  return drawFaults(random, { forMs, count: random.integer(1, FAULTS_MAX) });
}

/** Runs once out of one seed: faults strike while requests run, then all is left alone until nothing is on its way. */
export async function simulate({
  seed,
  faults,
  parts = SHIPPED,
  forMs = RUN_MS,
}: RunOptions): Promise<RunResult> {
  silenceLogs();
  const plan = faults ?? faultsOf(seed, forMs);
  const world = new World(seed, parts);
  let violation: string | null = null;
  try {
    await run(world, plan, forMs);
  } catch (error) {
    violation = error instanceof Violation ? error.message : `${(error as Error).stack}`;
  }
  world.isOver = true;
  return {
    seed,
    steps: world.scheduler.steps,
    requests: world.truth.requests.size,
    faults: plan,
    traceHash: world.scheduler.traceHash,
    violation,
    repairs: world.checks.repairs,
    recharges: world.checks.recharges,
    waits: world.truth.waits,
  };
}

async function run(world: World, plan: readonly Fault[], forMs: number): Promise<void> {
  for (const index of world.controlPlanes.keys()) world.startControlPlane(index);
  for (const index of world.nodes.keys()) world.startNode(index);
  for (const fault of plan) world.scheduler.after(fault.atMs, 'fault', () => begin(world, fault));
  startWorkload(world, forMs);
  const longest = Math.max(0, ...plan.map((fault) => fault.atMs + fault.forMs));
  await world.runTo(Math.max(forMs, longest) + 1_000);
  world.waitingFaults.splice(0);
  await rest(world);
  const dismissed = await bookLetters(world);
  await rest(world);
  checkEnd(world, dismissed);
}

function begin(world: World, fault: Fault): void {
  const strike = (): void => {
    try {
      world.struck.add(fault.kind);
      STRIKES[fault.kind](world, fault);
    } catch (error) {
      world.failure ??= error;
    }
  };
  const { afterCall } = fault;
  if (!afterCall) return strike();
  const { name, lagMs, times } = afterCall;
  const struck = (): void => void world.scheduler.after(lagMs, `fault ${fault.kind}`, strike);
  for (let nth = 0; nth < times; nth += 1) world.waitingFaults.push({ name, strike: struck });
}

async function rest(world: World): Promise<void> {
  const endMs = world.scheduler.nowMs - world.startMs + QUIET_WITHIN_MS;
  for (let ms = world.scheduler.nowMs - world.startMs; !isQuiet(world); ms += LOOK_EVERY_MS) {
    if (ms > endMs) return;
    await world.runTo(ms + LOOK_EVERY_MS);
  }
}
