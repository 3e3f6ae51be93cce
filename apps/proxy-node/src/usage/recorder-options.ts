import type { Acknowledgements, RedisConnection } from '@tollgate/keyspace';
import type { Tracing } from '@tollgate/tracing';
import type { Logger } from 'pino';
import type { JournalDisk } from '../journal/journal-disk.ts';
import type { TryLock } from '../journal/journal-lock.ts';
import type { PostJournal } from './settling/journal-uplink.ts';
import type { MeteringPort } from './metering-port.ts';
import type { OutboxPort } from './relay-options.ts';
import type { Timers } from '../timers.ts';
import type { UsageQueue } from './usage-queue.ts';

export interface RecorderOptions {
  dataDir: string;
  /** Stable name of the node and index of this process. */
  node: string;
  worker: number;
  shards: number;
  /** The lease of a hold in Redis. */
  leaseMs: number;
  /** `MeteringStore` fits. */
  metering: MeteringPort & OutboxPort;
  /** The connection of `metering`: while nothing answers there nothing is admitted, and when it returns everything Redis could have lost is sent again. */
  redis: RedisConnection;
  acknowledgements: Pick<Acknowledgements, 'consume'>;
  /** A connection of role `blocking` for the acknowledgements alone; closed by `close`. */
  blocking: RedisConnection;
  queue: UsageQueue;
  /** The address that receives finals that Redis can no longer take, and the proof that they are this node's. */
  controlPlaneUrl?: string | undefined;
  credential?: string;
  /** Share of Redis' memory in use. */
  memoryUse?: () => Promise<number>;
  /** Addresses `<name>:<worker>` of the live fleet, sorted: shares the relays out. */
  peers: () => Promise<readonly string[]>;
  log: Logger;
  /** For the settlements of traced requests. */
  tracing?: Tracing | null;
  /** Unix ms, for what outlives the process. */
  now?: () => number;
  /** For durations; a test that moves time moves this one. */
  monotonicNow?: () => number;
  random?: () => number;
  timers?: Timers;
  disk?: JournalDisk;
  tryLock?: TryLock;
  postJournal?: PostJournal;
  backlogMax?: number;
  /** A stream waits this long for a purchase of auto-recharge that is due; 0 = not at all. */
  rechargeWaitMs?: number;
  /** The tokens of `FailOpen`; 0 = off. */
  failOpenTokens?: number;
}
