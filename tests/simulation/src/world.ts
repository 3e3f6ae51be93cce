import type { FleetMessage } from '@tollgate/contracts';
import type { PriceVersion } from '@tollgate/snapshot';
import { setPriceSchema } from '../../../apps/control-plane/src/features/models/models.dto.ts';
import { Checks } from './checks.ts';
import { SHIPPED_CONTROL_PLANE, type ControlPlaneParts } from './control-plane-parts.ts';
import { ControlPlane } from './control-plane.ts';
import { SimulatedDisk } from './disk.ts';
import { excuseUnwritten, hasFinal } from './finals-on-disk.ts';
import type { FaultKind } from './fault-plan.ts';
import { LiveStore } from './redis/live-store.ts';
import type { RedisFunctions } from './redis/redis-functions.ts';
import { SHIPPED_NODE, type NodeParts } from './node-parts.ts';
import { Node, type Machine } from './node.ts';
import {
  fillSubscription,
  FIRST_PRICE,
  FIRST_SUBSCRIPTIONS,
  MODEL_ID,
  SHARDS,
  pricesRow,
} from './postgres/first-rows.ts';
import { ModelPostgres } from './postgres/model-postgres.ts';
import { STATEMENTS } from './postgres/statements.ts';
import type { SimulatedProcess } from './process.ts';
import { Random } from './random.ts';
import { Scheduler } from './scheduler.ts';
import { Truth } from './truth.ts';

export interface Parts {
  node: NodeParts;
  controlPlane: ControlPlaneParts;
  /** Are the shipped functions of Redis unless they are given. */
  functions?: RedisFunctions;
}
export const SHIPPED: Parts = { node: SHIPPED_NODE, controlPlane: SHIPPED_CONTROL_PLANE };

/** Is a minute before a day ends: the days of requests change in the middle of a run. */
const START_MS = Date.UTC(2026, 10, 21, 23, 59);
const WORKERS = [
  { node: 'node-a', worker: 0, machine: 0 },
  { node: 'node-a', worker: 1, machine: 0 },
  { node: 'node-b', worker: 0, machine: 1 },
];
const CONTROL_PLANES_MAX = 2;
const WORD_MS_MAX = 40;

/** Holds numbers in millionths. */
export interface DrawnPrice extends Omit<PriceVersion, 'id' | 'effective_at' | 'multipliers'> {
  perMillion: number;
  multipliers: Readonly<Record<string, number>>;
}

/** Is the whole installation: nodes on their machines, control plane, Redis, PostgreSQL. */
export class World {
  readonly scheduler = new Scheduler(START_MS);
  readonly startMs = START_MS;
  readonly truth = new Truth();
  readonly redis: LiveStore;
  readonly postgres: ModelPostgres;
  readonly checks: Checks;
  readonly machines: Machine[];
  readonly nodes: (Node | null)[] = WORKERS.map(() => null);
  readonly subscriptions = FIRST_SUBSCRIPTIONS;
  readonly prices: PriceVersion[] = [];
  readonly random: (purpose: string) => Random;
  /** Holds one or two, by the seed; null while it is down. */
  readonly controlPlanes: (ControlPlane | null)[];
  readonly controlPlaneWallErrorsMs: number[];
  isDuplicating = false;
  /** Ends the keepers. */
  isOver = false;
  /** Holds workers that a fault keeps down. */
  readonly held = new Set<number>();
  /** Counts requests whose finals a damaged disk made unreadable, by machine. */
  readonly damaged = new Map<string, number>();
  /** Holds requests of which something else than their node wrote finals to Redis. */
  readonly forged = new Set<string>();
  /** Holds faults that strike after the next call of a function. */
  readonly waitingFaults: { name: string; strike: () => void }[] = [];
  /** Holds the kinds of the faults that have struck. */
  readonly struck = new Set<FaultKind>();
  failure: unknown = null;
  readonly #parts: Parts;

  constructor(seed: number, parts: Parts = SHIPPED) {
    this.#parts = parts;
    const streams = new Map<string, Random>();
    this.random = (purpose) => {
      const stream = streams.get(purpose) ?? new Random(seed, purpose);
      streams.set(purpose, stream);
      return stream;
    };
    this.redis = new LiveStore(SHARDS, this.scheduler, parts.functions);
    this.redis.onCalled.push(({ name }) => {
      const due = this.waitingFaults.findIndex((fault) => fault.name === name);
      if (due >= 0) this.waitingFaults.splice(due, 1)[0]?.strike();
    });
    this.postgres = new ModelPostgres(() => Math.floor(this.scheduler.nowMs), STATEMENTS);
    this.checks = new Checks(this);
    this.machines = [0, 1].map((index) => ({
      disk: new SimulatedDisk(this.random(`disk ${index}`)),
      wallErrorMs: 0,
    }));
    const controlPlanes = this.random('control planes').integer(1, CONTROL_PLANES_MAX);
    this.controlPlanes = Array.from({ length: controlPlanes }, () => null);
    this.controlPlaneWallErrorsMs = this.controlPlanes.map(() => 0);
    this.#fill();
  }

  /** Steps until then; each is followed by the checks. */
  async runTo(ms: number): Promise<void> {
    while (await this.scheduler.step(this.startMs + ms)) {
      if (this.failure !== null) throw this.failure;
      // A commit that a check broke is counted in part, so its own fault comes before what no longer adds up.
      if (this.postgres.fault !== null) throw this.postgres.fault;
      this.checks.after();
    }
  }

  startControlPlane(index: number): void {
    this.controlPlanes[index] = new ControlPlane(`control-plane-${index}`, {
      scheduler: this.scheduler,
      random: this.random(`control plane ${index}`),
      redis: this.redis,
      postgres: this.postgres,
      shards: SHARDS,
      parts: this.#parts.controlPlane,
      wallErrorMs: () => this.controlPlaneWallErrorsMs[index] ?? 0,
      announce: (message) => this.#announce(message),
      broken: (error) => void (this.failure ??= error),
      duplicates: () => this.isDuplicating && this.random('duplicates').chance(0.3),
    });
  }

  /** Picks one like a balancer. */
  get someControlPlane(): ControlPlane | undefined {
    const alive = this.controlPlanes.filter((one) => one !== null);
    return alive.length === 0 ? undefined : this.random('balancer').pick(alive);
  }

  startNode(index: number): void {
    const worker = WORKERS[index];
    const machine = worker && this.machines[worker.machine];
    if (!machine) throw new RangeError(`there is no worker ${index}`);
    const node = new Node(worker, machine, {
      scheduler: this.scheduler,
      random: this.random(`node ${index}`),
      redis: this.redis,
      truth: this.truth,
      shards: SHARDS,
      parts: this.#parts.node,
      broken: (error) => void (this.failure ??= error),
      isOnDisk: (rid) => hasFinal(machine.disk, rid),
      peers: () => this.#alive().map(({ address }) => address),
      post: (process) => (upload) => this.#post(process, upload),
    });
    this.nodes[index] = node;
    node.process.onDeath(() => {
      excuseUnwritten(this.truth, node.address, machine.disk);
      if (this.nodes[index] === node) this.nodes[index] = null;
      this.scheduler.after(1_000, 'keeper', () => {
        if (!this.nodes[index] && !this.held.has(index) && !this.isOver) this.startNode(index);
      });
    });
  }

  workersOn(machine: number): number[] {
    return WORKERS.flatMap((worker, index) => (worker.machine === machine ? [index] : []));
  }

  machineOf(index: number): Machine {
    return this.machines[WORKERS[index]?.machine ?? 0] as Machine;
  }

  addressesOn(machine: number): string[] {
    return WORKERS.filter((worker) => worker.machine === machine).map(
      ({ node, worker }) => `${node}:${worker}`,
    );
  }

  get currentPrice(): PriceVersion {
    return this.prices.at(-1) as PriceVersion;
  }

  /** Sets a price, by which nodes charge at once; not where its answer is lost. */
  async setPrice({ perMillion, ...price }: DrawnPrice): Promise<void> {
    const { multipliers, tiers = [], ...weights } = price;
    const body = {
      ...{ model_id: MODEL_ID, price_per_million: decimal(perMillion) },
      ...decimals(weights),
      multipliers: decimals(multipliers),
      tiers: tiers.map((tier) => ({ ...tier, weights: decimals(tier.weights) })),
    };
    const id = await this.someControlPlane?.sales.setPrice(setPriceSchema.parse(body));
    if (id !== undefined) this.prices.push({ id, effective_at: 0, ...price });
  }

  #announce(message: FleetMessage): void {
    const random = this.random('words');
    for (const node of this.#alive())
      if (random.chance(0.8))
        node.process.after(random.integer(1, WORD_MS_MAX), () => node.receive(message), 'word');
  }

  #alive(): Node[] {
    return this.nodes.filter((node) => node !== null);
  }

  /** Posts over HTTP: a call that fails may have been served. */
  async #post(
    process: SimulatedProcess,
    upload: Parameters<ControlPlane['takeJournal']>[0],
  ): Promise<{ status: number; text: string }> {
    const random = this.random('http');
    const pause = (): Promise<void> =>
      new Promise((resolve) => process.after(random.integer(1, 40), resolve, 'http'));
    await pause();
    const controlPlane = this.someControlPlane;
    if (!controlPlane) throw new Error('ECONNREFUSED');
    if (random.chance(0.1)) void this.someControlPlane?.takeJournal(upload).catch(() => undefined);
    const taken = controlPlane.takeJournal(upload).catch(() => ({ status: 503, text: '' }));
    const { promise: cut, reject } = Promise.withResolvers<never>();
    process.after(15_000, () => reject(new Error('timeout')), 'http timeout');
    cut.catch(() => undefined);
    const answer = await Promise.race([taken, cut]);
    await pause();
    if (random.chance(0.05)) throw new Error('ECONNRESET');
    return answer;
  }

  #write(act: (tx: ReturnType<ModelPostgres['begin']>) => void): void {
    const tx = this.postgres.begin();
    act(tx);
    this.postgres.commit(tx);
  }

  #fill(): void {
    this.#write((tx) => {
      const first = { id: this.postgres.rows.prices.nextId(), effective_at: 0, ...FIRST_PRICE };
      this.prices.push(first);
      this.postgres.rows.prices.put(tx, first.id, pricesRow(first));
      for (const subscription of this.subscriptions)
        fillSubscription(this.postgres, tx, subscription, START_MS);
    });
  }
}

function decimal(millionths: number): string {
  return (millionths / 1_000_000).toFixed(6);
}

function decimals(numbers: object): Record<string, string> {
  return Object.fromEntries(Object.entries(numbers).map(([name, n]) => [name, decimal(n)]));
}
