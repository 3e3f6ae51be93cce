import type { Logger } from 'pino';
import { SYSTEM_TIMERS, type Timers } from '../timers.ts';

const LOOK_MS = 2_000;
/** Above this share nothing new is admitted: running requests must still be settled, and Redis refuses every write when it is full. */
const FULL_ABOVE = 0.85;
const ROOM_BELOW = 0.8;

export interface MemoryGaugeOptions {
  /** Returns the used share of Redis' memory, 0 to 1. */
  memoryUse: () => Promise<number>;
  log: Pick<Logger, 'warn' | 'info'>;
  timers?: Timers;
}

/** Knows whether Redis has room for more work. An outbox that is not emptied fills it, and so do too many subscriptions for its size. */
export class MemoryGauge {
  readonly #options: MemoryGaugeOptions;
  readonly #stopLooking: () => void;
  #isFull = false;

  constructor(options: MemoryGaugeOptions) {
    this.#options = options;
    const { timers = SYSTEM_TIMERS } = options;
    this.#stopLooking = timers.every(LOOK_MS, () => void this.look());
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** Looks at the memory; it never throws: a Redis that does not answer causes a refusal elsewhere. */
  async look(): Promise<void> {
    const use = await this.#options.memoryUse().catch(() => undefined);
    if (use === undefined) return;
    const isFull = use > (this.#isFull ? ROOM_BELOW : FULL_ABOVE);
    if (isFull !== this.#isFull)
      this.#options.log.warn(
        { use },
        isFull
          ? 'Redis is nearly full: no new requests are admitted'
          : 'Redis has free memory again',
      );
    this.#isFull = isFull;
  }

  close(): void {
    this.#stopLooking();
  }
}
