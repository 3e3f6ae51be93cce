import type { Acknowledgement } from '@tollgate/contracts';
import { z } from 'zod';
import type { RedisConnection } from './function-library.ts';
import { keys } from './keys.ts';

/** A node gone for longer asks again by re-emitting its finals. */
const TTL_SECONDS = 7 * 24 * 60 * 60;
const POP_TIMEOUT_SECONDS = 2;
const LISTS_PER_POP = 256;
const RETRY_DELAY_MS = 250;

const acknowledgementsSchema = z.array(z.object({ rid: z.string(), seq: z.number().int() }));

/**
 * Word from the control plane to a node worker's journal: these events are in PostgreSQL. Losing one is harmless, the node emits the event again.
 * `address` is `<name>:<worker>` as in the payload's `node`.
 */
export class Acknowledgements {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async push(address: string, acknowledgements: readonly Acknowledgement[]): Promise<void> {
    if (acknowledgements.length === 0) return;
    const key = keys.acknowledgements(address);
    await this.#redis
      .pipeline()
      .rpush(key, JSON.stringify(acknowledgements))
      .expire(key, TTL_SECONDS)
      .exec();
  }

  /**
   * Hands over acknowledgements as they come until `signal` aborts. `blocking` is a connection of role `blocking` that nothing else uses;
   * it is closed at the end. Errors of the connection are waited out; an error of `onAcknowledged` ends the loop.
   */
  async consume(
    address: string,
    { blocking, signal, onAcknowledged }: ConsumeParts,
  ): Promise<void> {
    const key = keys.acknowledgements(address);
    const close = (): void => blocking.disconnect();
    signal.addEventListener('abort', close, { once: true });
    while (!signal.aborted) {
      const texts = await popLists(blocking, key, signal);
      const acknowledgements = texts.flatMap(readList);
      if (acknowledgements.length > 0) await onAcknowledged(acknowledgements);
    }
    signal.removeEventListener('abort', close);
    close();
  }
}

export interface ConsumeParts {
  blocking: RedisConnection;
  signal: AbortSignal;
  onAcknowledged: (acknowledgements: Acknowledgement[]) => void | Promise<void>;
}

async function popLists(
  blocking: RedisConnection,
  key: string,
  signal: AbortSignal,
): Promise<string[]> {
  try {
    const popped = await blocking.blmpop(
      POP_TIMEOUT_SECONDS,
      1,
      key,
      'LEFT',
      'COUNT',
      LISTS_PER_POP,
    );
    return popped?.[1] ?? [];
  } catch {
    await pause(RETRY_DELAY_MS, signal);
    return [];
  }
}

function readList(text: string): Acknowledgement[] {
  try {
    return acknowledgementsSchema.safeParse(JSON.parse(text)).data ?? [];
  } catch {
    return [];
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
