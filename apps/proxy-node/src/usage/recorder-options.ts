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
  /** Is the stable name of the node and the index of this process. */
  node: string;
  worker: number;
  shards: number;
  /** Is the lease of a hold in Redis. */
  leaseMs: number;
  /** `MeteringStore` implements it. */
  metering: MeteringPort & OutboxPort;
  /** Is the connection of `metering`. While it has no answer nothing is admitted, and when it returns everything that Redis could have lost is sent again. */
  redis: RedisConnection;
  acknowledgements: Pick<Acknowledgements, 'consume'>;
  /** Is a connection of role `blocking` for the acknowledgements only; `close` closes it. */
  blocking: RedisConnection;
  queue: UsageQueue;
  /** Is the address that takes finals that Redis can no longer take, and the proof that they are this node's. */
  controlPlaneUrl?: string | undefined;
  credential?: string;
  /** Returns the used share of Redis' memory. */
  memoryUse?: () => Promise<number>;
  /** Returns the sorted addresses `<name>:<worker>` of the live fleet, over which the relays are distributed. */
  peers: () => Promise<readonly string[]>;
  log: Logger;
  /** Records the settlements of traced requests. */
  tracing?: Tracing | null;
  /** Returns Unix ms, for what outlives the process. */
  now?: () => number;
  /** Is a clock for durations, which a test can move. */
  monotonicNow?: () => number;
  random?: () => number;
  timers?: Timers;
  disk?: JournalDisk;
  tryLock?: TryLock;
  postJournal?: PostJournal;
  backlogMax?: number;
  /** A stream waits this long for a purchase of auto-recharge that is due; 0 means that it does not wait. */
  rechargeWaitMs?: number;
  /** Bounds the tokens of `FailOpen`; 0 turns it off. */
  failOpenTokens?: number;
}
