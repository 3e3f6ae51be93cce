import type { Acknowledgement, ControlPlaneMac } from '@tollgate/contracts';
import { z } from 'zod';
import type { RedisConnection } from './connection/redis-connection.ts';
import { keys } from './keys.ts';
import { closeRedis } from './connection/open-redis.ts';

/** A node gone for longer asks again by re-emitting its finals. */
const TTL_SECONDS = 7 * 24 * 60 * 60;
const POP_TIMEOUT_SECONDS = 2;
const LISTS_PER_POP = 256;
const RETRY_DELAY_MS = 250;

const listSchema = z.object({
  mac: z.string(),
  events: z.array(z.object({ rid: z.string(), seq: z.number().int() })),
});

/**
 * Carries messages from the control plane to a node worker's journal: these events are in PostgreSQL. Losing one is harmless, the node emits the event again.
 * `address` is `<name>:<worker>` as in the payload's `node`. Lists carry the control plane's MAC: a node that believed a forged one would
 * forget a final that was never booked.
 */
export class Acknowledgements {
  readonly #redis: RedisConnection;
  readonly #mac: ControlPlaneMac;

  constructor({ redis, mac }: { redis: RedisConnection; mac: ControlPlaneMac }) {
    this.#redis = redis;
    this.#mac = mac;
  }

  async push(address: string, acknowledgements: readonly Acknowledgement[]): Promise<void> {
    if (acknowledgements.length === 0) return;
    const key = keys.acknowledgements(address);
    await this.#redis
      .pipeline()
      .rpush(
        key,
        JSON.stringify({
          mac: this.#macOf(address, acknowledgements),
          events: acknowledgements,
        }),
      )
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
    const close = (): void => closeRedis(blocking);
    signal.addEventListener('abort', close, { once: true });
    while (!signal.aborted) {
      const texts = await popLists(blocking, key, signal);
      const acknowledgements = texts.flatMap((text) => this.#read(address, text));
      if (acknowledgements.length > 0) await onAcknowledged(acknowledgements);
    }
    signal.removeEventListener('abort', close);
    close();
  }

  #macOf(address: string, events: readonly Acknowledgement[]): string {
    return this.#mac.sign('acknowledgement', signedParts(address, events));
  }

  /** Returns nothing of a list that the control plane did not sign for this worker. */
  #read(address: string, text: string): Acknowledgement[] {
    const list = readList(text);
    if (!list) return [];
    const { mac, events } = list;
    return this.#mac.isSigned('acknowledgement', signedParts(address, events), mac) ? events : [];
  }
}

function signedParts(address: string, list: readonly Acknowledgement[]): unknown[] {
  return [address, ...list.map(({ rid, seq }) => [rid, seq])];
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

function readList(text: string): z.output<typeof listSchema> | undefined {
  try {
    return listSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
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
