import { EventEmitter } from 'node:events';
import type { SimulatedProcess } from './process.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** Holds what a link leads to. */
export interface Server {
  readonly isUp: boolean;
}

const SILENCE_MS = 3_000;
const DELAY_MS_MAX = 3;
/** Equals the value in `open-redis.ts` of libs/keyspace. */
export const COMMAND_TIMEOUT_MS = 5_000;
/** Is the longest delay that a slow connection adds in each direction. */
const SLOW_MS_MAX = 4_000;

interface LinkParts {
  server: Server;
  scheduler: Scheduler;
  random: Random;
  /** An answer is not waited for longer. */
  timeoutMs?: number;
}

/** Is one connection of a process to a store: calls arrive in their order. While it is cut, or its server away, calls fail; a call that was under way may have been served, and may still be served after the connection was made again, unless its server ended. */
export class Link extends EventEmitter {
  status: 'ready' | 'close' = 'ready';
  readonly #process: SimulatedProcess;
  readonly #server: Server;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #timeoutMs: number;
  #lastArrivalMs = 0;
  /** Lists when each connection so far broke. */
  readonly #brokenAtMs: number[] = [];
  #serverLives = 0;
  #isCut = false;
  isSlow = false;

  constructor(
    process: SimulatedProcess,
    { server, scheduler, random, timeoutMs = Infinity }: LinkParts,
  ) {
    super();
    this.setMaxListeners(0);
    this.#process = process;
    this.#server = server;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#timeoutMs = timeoutMs;
  }

  cut(): void {
    this.#isCut = true;
    this.#break();
  }

  heal(): void {
    this.#isCut = false;
    this.connect();
  }

  /** The server has ended: every connection to it breaks. */
  serverLost(): void {
    this.#serverLives += 1;
    this.#break();
  }

  /** Comes back a moment later, if there is something to connect to. */
  connect(): void {
    this.#process.after(
      this.#random.integer(5, 500),
      () => {
        if (this.#isCut || !this.#server.isUp || this.status === 'ready') return;
        this.status = 'ready';
        this.emit('ready');
      },
      'connects',
    );
  }

  call<T>(label: string, serve: () => T | Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const generation = this.#brokenAtMs.length;
    const life = this.#serverLives;
    if (this.status !== 'ready') {
      this.#process.after(1, () => reject(unanswered()), `${label} refused`);
      return promise;
    }
    const fail = (): void =>
      void this.#process.after(
        this.#random.integer(1, SILENCE_MS),
        () => reject(unanswered()),
        `${label} unanswered`,
      );
    // A quick call needs no timer. It may wait behind those that were slow.
    const isQuick = !this.isSlow && this.#lastArrivalMs <= this.#scheduler.nowMs + DELAY_MS_MAX;
    if (!isQuick && this.#timeoutMs < Infinity)
      this.#process.after(this.#timeoutMs, () => reject(unanswered()), `${label} timeout`);
    const arrivesMs = Math.max(this.#lastArrivalMs, this.#scheduler.nowMs + this.#delay());
    this.#lastArrivalMs = arrivesMs;
    this.#scheduler.after(
      arrivesMs - this.#scheduler.nowMs,
      `${this.#process.name} ${label}`,
      () => {
        const isBroken = generation !== this.#brokenAtMs.length;
        const isLost = !this.#server.isUp || life !== this.#serverLives;
        // Half of what was under way when the connection broke was already at the server.
        if (isLost || (isBroken && this.#random.chance(0.5))) return fail();
        Promise.resolve()
          .then(serve)
          .then(
            (value) => this.#answer(generation, fail, () => resolve(value)),
            (error: unknown) => this.#answer(generation, fail, () => reject(error)),
          );
      },
    );
    return promise;
  }

  #answer(generation: number, fail: () => void, act: () => void): void {
    const delayMs = this.#delay();
    const arrivesMs = this.#scheduler.nowMs + delayMs;
    // Data that had arrived before the connection broke is still read.
    const read = (): void =>
      arrivesMs < (this.#brokenAtMs[generation] ?? Infinity) ? act() : fail();
    this.#process.after(delayMs, read, 'answer');
  }

  #delay(): number {
    return this.#random.next() * (this.isSlow ? SLOW_MS_MAX : DELAY_MS_MAX);
  }

  #break(): void {
    this.#brokenAtMs.push(this.#scheduler.nowMs);
    if (this.status !== 'ready') return;
    this.status = 'close';
    this.emit('close');
  }
}

function unanswered(): Error {
  return new Error('Connection is closed.');
}
