/**
 * Numbers the advisory locks of PostgreSQL, the same in every replica and every release: a release that renumbered one would not wait for the one before.
 * A lock of one number and a lock of two never meet.
 */
export const ADVISORY_LOCKS = {
  /** Replicas that start together take turns, and the second finds nothing left to do. */
  migrations: 7_001_001,
  /** Each entry of the activity log names its predecessor. */
  activityChain: 7_001_002,
  firstAdministrator: 7_001_003,
  balanceWatch: 7_001_004,
  upstreamWatch: 7_001_005,
  trustWatch: 7_001_006,
  usagePartitions: 7_001_010,
  /** Bookings of past days share it; the retention that drops days has it alone. */
  droppedDays: 7_001_011,
  reconciliation: 7_001_020,
  /** One `tollgate-ops epochs refill` runs at a time. */
  refill: 7_001_021,
} as const;

/** Is the first of two numbers; the second names what is locked. */
export const ADVISORY_LOCK_FAMILIES = {
  /** Is keyed by the shard's index: one replica fills a shard at a time. */
  shardRebuild: 7_001_003,
  /** Is keyed by the shard's index; bookings of usage share it, and a change of epoch has it alone. */
  shardEpoch: 7_001_004,
  /** Is keyed by the account's id: one key is made at a time. */
  keysOfAccount: 7_001_030,
  /** Is keyed by the hash of a skeleton: accounts of names that look alike are made one at a time. */
  lookalikes: 7_001_032,
  /** Is keyed by the dead letter's id, modulo 2^31: one person resolves it at a time. */
  deadLetter: 7_001_031,
} as const;
