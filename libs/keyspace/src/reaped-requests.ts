import type { EpochCache } from './epochs.ts';
import type { FunctionLibrary } from './functions/function-library.ts';
import { isRequestId, keys, requestId } from './keys.ts';
import type { RedisConnection } from './connection/redis-connection.ts';
import { ReplyReader } from './connection/reply-reader.ts';
import { lastEventIn } from './waiting-usage.ts';

/** Describes the request in the words of an outbox event. */
export interface ReapedRequest {
  rid: string;
  delta: string;
  payload: string;
}

/** Describes an event of an outbox. What another program wrote there may lack fields; they are empty then. */
export interface OutboxEvent extends ReapedRequest {
  seq: string;
}

export type RepeatReapReply =
  | { kind: 'sent'; subscriptionId: number; chargedTokens: number }
  /** Redis does not know any more what it charged. */
  | { kind: 'not_found' }
  | { kind: 'fenced' };

export interface ReapedRequestsParts {
  redis: RedisConnection;
  library: FunctionLibrary;
  epochs: EpochCache;
}

const EVENTS_AT_ONCE = 200;

/** Lists requests that the reaper ended. Their nodes are gone, so their charges are emitted again here or not at all. */
export class ReapedRequests {
  readonly #redis: RedisConnection;
  readonly #library: FunctionLibrary;
  readonly #epochs: EpochCache;

  constructor({ redis, library, epochs }: ReapedRequestsParts) {
    this.#redis = redis;
    this.#library = library;
    this.#epochs = epochs;
  }

  /** Returns the ids of requests whose charges are not known to be booked, the oldest first. */
  async waiting(shard: string): Promise<string[]> {
    const rids = await this.#redis.zrangebyscore(keys.reaped(shard), '-inf', '+inf');
    // Another program wrote the others.
    await this.settled(
      shard,
      rids.filter((rid) => !isRequestId(rid)),
    );
    return rids.filter(isRequestId);
  }

  /** The charge of this one leaves again. */
  repeat(shard: string, rid: string): Promise<RepeatReapReply> {
    const functionKeys = [keys.epoch(shard), keys.hold(shard, requestId(rid)), keys.outbox(shard)];
    return this.#epochs.refreshingOnce(shard, async (epoch): Promise<RepeatReapReply> => {
      const reply = await this.#library.call('repeat_reap', functionKeys, [epoch, rid]);
      const reader = new ReplyReader(reply);
      switch (reader.oneOf('OK', 'NOT_FOUND', 'FENCED')) {
        case 'OK':
          return {
            kind: 'sent',
            subscriptionId: reader.integer(),
            chargedTokens: reader.integer(),
          };
        case 'NOT_FOUND':
          return { kind: 'not_found' };
        case 'FENCED':
          return { kind: 'fenced' };
      }
    });
  }

  /** Returns the id of the last event ever written to the shard's outbox; `0-0` before the first. */
  lastEvent(shard: string): Promise<string> {
    return lastEventIn(this.#redis, shard);
  }

  /** Forgets requests whose charges are booked, or for which nothing can be done. */
  async settled(shard: string, rids: readonly string[]): Promise<void> {
    if (rids.length > 0) await this.#redis.zrem(keys.reaped(shard), ...rids);
  }

  /** Returns all charges of reaps that may not be booked, of a shard that is about to be forgotten. It is not fenced. */
  async unbooked(shard: string): Promise<ReapedRequest[]> {
    const functionKeys = [keys.reaped(shard)];
    const reply = await this.#library.call('unbooked_reaps', functionKeys, [
      keys.holdPrefix(shard),
    ]);
    return new ReplyReader(reply).all((reaped) => ({
      rid: reaped.text(),
      delta: reaped.text(),
      payload: reaped.text(),
    }));
  }

  /** Returns the events in the outbox of a shard that is about to be forgotten, in order. */
  async *unrelayed(shard: string): AsyncGenerator<OutboxEvent[]> {
    for (let after = '-'; ;) {
      const range = [keys.outbox(shard), after, '+'] as const;
      const events = await this.#redis.xrange(...range, 'COUNT', EVENTS_AT_ONCE);
      yield events.map(([, fields]) => {
        const [, rid = '', , seq = '', , delta = '', , payload = ''] = fields;
        return { rid, seq, delta, payload };
      });
      const [last] = events.at(-1) ?? [];
      if (events.length < EVENTS_AT_ONCE || last === undefined) return;
      after = `(${last}`;
    }
  }
}
