import type { UsageJob } from '@tollgate/contracts';
import { shardNames, shardOf } from '@tollgate/keyspace';
import type { Server } from '../link.ts';
import type { Scheduler } from '../scheduler.ts';
import { runCommand, type Reply } from './redis-commands.ts';
import { RedisData, RedisError, type Changes } from './redis-data.ts';
import type { FunctionCall as Called } from './seen-call.ts';
import { RedisFunctions } from './redis-functions.ts';

/** The file is synced once a second: nothing older can be lost. */
const LOSABLE_MS = 1_500;
const EXPIRE_EVERY_MS = 1_000;

export interface QueuedJob {
  readonly id: number;
  readonly job: UsageJob;
  /** Until that moment it is this worker's; then it is taken for stalled and given to another. */
  readonly takenBy: string;
  readonly takenUntilMs: number;
  /** Is the time until which a failed job waits. */
  readonly readyAtMs: number;
}

/** Holds the lists of jobs and acknowledgements. A change replaces a field and alters none. */
export interface Queue {
  jobs: readonly QueuedJob[];
  acknowledgements: ReadonlyMap<string, readonly string[]>;
  lastJob: number;
}

interface Call {
  number: number;
  atMs: number;
  changes: Changes;
  queue: Queue;
}

export type Command = readonly [name: string, ...parameters: unknown[]];
type FunctionCall =
  Parameters<RedisFunctions['call']> extends [unknown, ...infer Rest] ? Rest : never;

const EMPTY: Queue = { jobs: [], acknowledgements: new Map(), lastJob: 0 };
let shipped: RedisFunctions | undefined;
let previewer: RedisFunctions | undefined;

/** Is Redis: one call at a time, a file of calls whose end may be lost, and a clock of its own. */
export class LiveStore implements Server {
  readonly names: readonly string[];
  readonly data = new RedisData();
  readonly #functions: RedisFunctions;
  readonly #shards: number;
  readonly #scheduler: Scheduler;
  #queue = EMPTY;
  #calls: Call[] = [];
  #expiredAtMs = 0;
  /** Is the state before it was last lost. */
  #beforeLoss: { entries: ReturnType<RedisData['takeAll']>; queue: Queue } | null = null;
  isUp = true;
  clockErrorMs = 0;
  /** Is called after each call, with the account's shard when it has one. */
  onChanged: (shard: string | null, isLoss?: boolean) => void = () => undefined;
  /** Are called after each call of a function, with what it changed. */
  readonly onCalled: ((call: Called, changes: Changes) => void)[] = [];
  /** Are called for each key that expired while the clock was ahead, before its time. */
  readonly onExpiredEarly: ((key: string) => void)[] = [];
  /** Are called with the number of the last call that is kept, after the later ones were lost. */
  readonly onLostTail: ((lastCall: number) => void)[] = [];
  /** Names the events that the queue has lost once. */
  readonly lostEvents = new Set<string>();
  /** Is the number of the last call. */
  lastCall = 0;

  constructor(
    shards: number,
    scheduler: Scheduler,
    functions: RedisFunctions = (shipped ??= new RedisFunctions()),
  ) {
    this.#shards = shards;
    this.names = shardNames(shards);
    this.#scheduler = scheduler;
    this.#functions = functions;
    this.data.onExpired = (key, expiresAtMs) => {
      if (expiresAtMs > scheduler.nowMs) for (const act of this.onExpiredEarly) act(key);
    };
    functions.restart();
  }

  get queue(): Readonly<Queue> {
    return this.#queue;
  }

  get nowMs(): number {
    return Math.floor(this.#scheduler.nowMs + this.clockErrorMs);
  }

  shardOf(accountId: number): string {
    return shardOf(accountId, this.#shards);
  }

  fcall(...[name, keys, parameters]: FunctionCall): Reply {
    return this.#run(
      keys[0],
      () => this.#functions.call(this.data, name, keys, parameters),
      (changes) => {
        for (const act of this.onCalled) act({ name, keys, parameters }, changes);
      },
    );
  }

  /** Returns what a function would answer now. */
  preview(...[name, keys, parameters]: FunctionCall): Reply {
    this.data.nowMs = this.nowMs;
    // The server must not know what a preview learns.
    previewer ??= new RedisFunctions();
    previewer.restart();
    const reply = previewer.call(this.data, name, keys, parameters);
    this.data.undo(this.data.takeUndo());
    return reply;
  }

  command([name, ...parameters]: Command): Reply {
    return this.#run(parameters.flat()[0], () => runCommand(this.data, name, parameters));
  }

  /** Answers as MULTI or a pipeline does: each with its error or its reply. */
  commands(all: readonly Command[]): [Error | null, Reply][] {
    return this.#run(all[0]?.[1], () =>
      all.map(([name, ...parameters]): [Error | null, Reply] => {
        try {
          return [null, runCommand(this.data, name, parameters)];
        } catch (error) {
          if (error instanceof RedisError) return [error, null];
          throw error;
        }
      }),
    );
  }

  /** The jobs are gone, with those that a worker has. */
  loseJobs(): void {
    this.onQueue((queue) => {
      for (const { job } of queue.jobs)
        for (const { rid, seq } of job.events) this.lostEvents.add(`${rid}:${seq}`);
      queue.jobs = [];
    });
  }

  /** `act` replaces fields of the queue. */
  onQueue<R>(act: (queue: Queue, nowMs: number) => R): R {
    return this.#run(null, () => {
      this.#queue = { ...this.#queue };
      return act(this.#queue, Math.floor(this.#scheduler.nowMs));
    });
  }

  #run<R>(key: unknown, act: () => R, called: (changes: Changes) => void = () => undefined): R {
    const { data } = this;
    const call = { number: (this.lastCall += 1), atMs: this.#scheduler.nowMs, queue: this.#queue };
    data.nowMs = this.nowMs;
    if (Math.abs(data.nowMs - this.#expiredAtMs) > EXPIRE_EVERY_MS) {
      this.#expiredAtMs = data.nowMs;
      data.expire();
    }
    try {
      return act();
    } finally {
      const changes = data.takeUndo();
      this.#remember({ ...call, changes });
      called(changes);
      this.onChanged(/\{(s\d+)\}/.exec(String(key))?.[1] ?? null);
    }
  }

  #remember(call: Call): void {
    this.#calls.push(call);
    const oldest = this.#calls[0]?.atMs ?? 0;
    if (call.atMs - oldest < 2 * LOSABLE_MS) return;
    this.#calls = this.#calls.filter(({ atMs }) => call.atMs - atMs < LOSABLE_MS);
  }

  /** The last calls never happened: the end of the file, or what a promoted replica had not received. */
  loseTail(calls: number): void {
    this.#functions.restart();
    this.data.undo(this.data.takeUndo());
    const lost = this.#calls.splice(this.#calls.length - calls);
    for (const { changes, queue } of lost.toReversed()) {
      this.data.undo(changes);
      this.#queue = queue;
    }
    for (const act of this.onLostTail) act((lost[0]?.number ?? Infinity) - 1);
    for (const shard of this.names) this.onChanged(shard, true);
  }

  /** Returns the number of calls in the last `ms`. */
  callsWithin(ms: number): number {
    const sinceMs = this.#scheduler.nowMs - ms;
    return this.#calls.filter(({ atMs }) => atMs >= sinceMs).length;
  }

  /** Everything is gone. */
  flush(): void {
    this.#beforeLoss = { entries: this.data.takeAll(), queue: this.#queue };
    this.#replaced(EMPTY);
  }

  /** A file from before everything was lost takes the place of what was written since. */
  bringOldFileBack(): void {
    if (!this.#beforeLoss) return;
    this.data.replaceAll(this.#beforeLoss.entries);
    this.#replaced(this.#beforeLoss.queue);
  }

  #replaced(queue: Queue): void {
    this.#functions.restart();
    this.#queue = queue;
    this.#calls = [];
    this.data.takeUndo();
    for (const shard of this.names) this.onChanged(shard, true);
  }
}
