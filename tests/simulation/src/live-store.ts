import { shardNames, shardOf } from '@tollgate/keyspace';
import type { UsageJob } from '@tollgate/contracts';
import { ReferenceModel } from '../../../libs/keyspace/test/reference-model.ts';
import type { Server } from './link.ts';
import type { Scheduler } from './scheduler.ts';

/** Calls after which a copy is kept: a lost tail is at most as long. */
const CALLS_PER_COPY = 150;

interface QueuedJob {
  id: number;
  job: UsageJob;
  /** Taken by a worker; after that moment it is taken for stalled and given to another. */
  takenUntilMs: number;
  /** A failed one waits until then. */
  readyAtMs: number;
}

/** All that Redis holds. */
export class LiveState {
  shards = new Map<string, ReferenceModel>();
  jobs: QueuedJob[] = [];
  acknowledgements = new Map<string, string[]>();
  lastJob = 0;
  /** What stands under each shard's epoch key, marks of a rebuild and of a restoring shard included. */
  #epochs = new Map<string, string>();

  epochOf(shard: string): string | null {
    return this.#epochs.get(shard) ?? null;
  }

  setEpoch(shard: string, text: string): void {
    this.#epochs.set(shard, text);
    const model = this.shards.get(shard);
    if (!model) throw new RangeError(`there is no shard ${shard}`);
    const [, mark, epoch] = /^(rebuilding:|restoring:|)(.*)$/.exec(text) ?? [];
    model.epoch = mark === 'rebuilding:' ? null : (epoch ?? null);
    model.isRestoring = mark === 'restoring:';
  }

  clone(): LiveState {
    const copy = new LiveState();
    copy.shards = new Map([...this.shards].map(([name, model]) => [name, model.clone()]));
    copy.jobs = structuredClone(this.jobs);
    copy.acknowledgements = structuredClone(this.acknowledgements);
    copy.lastJob = this.lastJob;
    copy.#epochs = new Map(this.#epochs);
    return copy;
  }
}

/** Redis' own time, which may jump, and the one by which the queue's jobs wait. */
interface Clock {
  nowMs: number;
  queueMs: number;
}

interface Call {
  clock: Clock;
  act: (state: LiveState, clock: Clock) => unknown;
}

/** Redis: one call at a time, a file of calls whose end may be lost, and a clock of its own. */
export class LiveStore implements Server {
  readonly names: readonly string[];
  readonly #shards: number;
  readonly #scheduler: Scheduler;
  #state: LiveState;
  #copies: { calls: number; state: LiveState }[] = [];
  #calls: Call[] = [];
  #firstCall = 0;
  /** As it was before it was last lost. */
  #beforeLoss: LiveState | null = null;
  isUp = true;
  clockErrorMs = 0;
  /** After each call, with the account's shard when it has one. */
  onChanged: (shard: string | null, isLoss?: boolean) => void = () => undefined;

  constructor(shards: number, scheduler: Scheduler) {
    this.#shards = shards;
    this.names = shardNames(shards);
    this.#scheduler = scheduler;
    this.#state = emptyState(this.names);
    this.#keepCopy();
  }

  get state(): LiveState {
    return this.#state;
  }

  get nowMs(): number {
    return Math.floor(this.#scheduler.nowMs + this.clockErrorMs);
  }

  shardOf(accountId: number): string {
    return shardOf(accountId, this.#shards);
  }

  /** `act` must depend on nothing but its parameters: it runs again when the end of the file is lost. */
  run<R>(shard: string, act: (model: ReferenceModel) => R): R {
    return this.runIn(shard, (_state, model) => act(model));
  }

  runIn<R>(shard: string, act: (state: LiveState, model: ReferenceModel) => R): R {
    const reply = this.runAny((state, { nowMs }) => {
      const model = state.shards.get(shard);
      if (!model) throw new RangeError(`there is no shard ${shard}`);
      model.now = nowMs;
      model.expire();
      return act(state, model);
    });
    this.onChanged(shard);
    return reply;
  }

  runAny<R>(act: (state: LiveState, clock: Clock) => R): R {
    const clock = { nowMs: this.nowMs, queueMs: Math.floor(this.#scheduler.nowMs) };
    const call = { clock, act };
    this.#calls.push(call);
    const reply = act(this.#state, call.clock);
    if ((this.#firstCall + this.#calls.length) % CALLS_PER_COPY === 0) this.#keepCopy();
    return reply;
  }

  /** The last calls never happened: the end of the file, or what a promoted replica had not received. */
  loseTail(calls: number): void {
    const target = Math.max(
      this.#copies[0]?.calls ?? 0,
      this.#firstCall + this.#calls.length - calls,
    );
    const from = this.#copies.findLast((copy) => copy.calls <= target);
    if (!from) return;
    this.#state = from.state.clone();
    const kept = this.#calls.slice(0, target - this.#firstCall);
    for (const call of kept.slice(from.calls - this.#firstCall)) call.act(this.#state, call.clock);
    this.#calls = kept;
    this.#copies = this.#copies.filter((copy) => copy.calls <= target);
    for (const shard of this.names) this.onChanged(shard, true);
  }

  /** How many calls were made in the last `ms`. */
  callsWithin(ms: number): number {
    const sinceMs = this.#scheduler.nowMs - ms;
    return this.#calls.filter(({ clock }) => clock.queueMs >= sinceMs).length;
  }

  /** Everything is gone. */
  flush(): void {
    this.#beforeLoss = this.#state.clone();
    this.#replace(emptyState(this.names));
  }

  /** A file from before everything was lost takes the place of what was written since. */
  bringOldFileBack(): void {
    if (this.#beforeLoss) this.#replace(this.#beforeLoss.clone());
  }

  #replace(state: LiveState): void {
    this.#state = state;
    this.#calls = [];
    this.#copies = [];
    this.#firstCall = 0;
    this.#keepCopy();
    for (const shard of this.names) this.onChanged(shard, true);
  }

  #keepCopy(): void {
    this.#copies.push({
      calls: this.#firstCall + this.#calls.length,
      state: this.#state.clone(),
    });
    if (this.#copies.length <= 3) return;
    this.#copies.shift();
    const first = this.#copies[0]?.calls ?? 0;
    this.#calls = this.#calls.slice(first - this.#firstCall);
    this.#firstCall = first;
  }
}

/** As Redis is when it was just installed: no shard has an epoch. */
function emptyState(names: readonly string[]): LiveState {
  const state = new LiveState();
  for (const name of names) {
    const model = new ReferenceModel(0, name);
    model.epoch = null;
    state.shards.set(name, model);
  }
  return state;
}
