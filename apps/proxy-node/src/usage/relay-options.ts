import type { HoldRef, RelayReply, RelayRequest } from '@tollgate/keyspace';
import type { Logger } from 'pino';
import type { Timers } from '../timers.ts';
import type { UsageQueue } from './usage-queue.ts';

export interface OutboxPort {
  relay(shard: string, request: RelayRequest): Promise<RelayReply>;
  releaseRelay(shard: string, request: Pick<RelayRequest, 'owner' | 'relayedIds'>): Promise<void>;
  reap(hold: HoldRef): Promise<unknown>;
  shardOf(accountId: number): string;
}

export interface RelayOptions {
  outbox: OutboxPort;
  queue: UsageQueue;
  shards: number;
  /** Is unique per process, and is this process's name among `peers`. */
  owner: string;
  /** Returns the names of all live relays, in the same order everywhere; they decide which relay should hold which shard. An empty list takes what is free. */
  peers: () => Promise<readonly string[]>;
  log: Pick<Logger, 'warn' | 'debug'>;
  now: () => number;
  random: () => number;
  timers?: Timers;
}
