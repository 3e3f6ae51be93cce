import type { TokenUsage } from '@tollgate/contracts';
import type { ChargedPrice } from '../../../apps/proxy-node/src/journal/open-hold.ts';
import type { JournalDisk } from '../../../apps/proxy-node/src/journal/journal-disk.ts';
import type { TryLock } from '../../../apps/proxy-node/src/journal/journal-lock.ts';
import {
  RechargeWaits,
  type RechargeWaitsParts,
} from '../../../apps/proxy-node/src/pipeline/admission/recharge-waits.ts';
import type { PostJournal } from '../../../apps/proxy-node/src/usage/settling/journal-uplink.ts';
import type { LiveStore } from './redis/live-store.ts';
import type { SimulatedProcess } from './process.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';
import type { Truth } from './truth.ts';

/** Holds parts of a node that a test may replace by broken ones. */
export interface NodeParts {
  disk: (disk: JournalDisk) => JournalDisk;
  tryLock: (lock: TryLock) => TryLock;
  waits: (parts: RechargeWaitsParts) => RechargeWaits;
  /** Returns the duration of a request, for its final. */
  durationMs: (
    process: SimulatedProcess,
    startedAt: { unixMs: number; monotonicMs: number },
  ) => number;
}

export const SHIPPED_NODE: NodeParts = {
  disk: (disk) => disk,
  tryLock: (lock) => lock,
  waits: (parts) => new RechargeWaits(parts),
  durationMs: (process, startedAt) => process.monotonicMs() - startedAt.monotonicMs,
};

export interface NodeWorld {
  scheduler: Scheduler;
  random: Random;
  redis: LiveStore;
  truth: Truth;
  shards: number;
  parts: NodeParts;
  /** Is true when a journal of the node's machine has the final of a request. */
  isOnDisk: (rid: string) => boolean;
  /** Ends the run. */
  broken: (error: unknown) => void;
  /** Returns names of the workers that report. */
  peers: () => string[];
  post: (process: SimulatedProcess) => PostJournal;
}

export interface Ask {
  accountId: number;
  keyHash: string;
  modelId: number;
  price: ChargedPrice;
  /** Counts the tokens by class that the upstream reads. */
  prompt: TokenUsage;
  output: number;
  isStream: boolean;
  isHungUp: boolean;
}
