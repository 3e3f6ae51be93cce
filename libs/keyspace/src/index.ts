export * from './acknowledgements.ts';
export * from './records/address-allowlist.ts';
export * from './background-marks.ts';
export { ClusterState } from './connection/cluster-state.ts';
export { isModelAllowed } from './records/allowed-models.ts';
export * from './metering/admission.ts';
export * from './scope-value.ts';
export * from './epochs.ts';
export * from './fleet-store.ts';
export { IncidentReports } from './incident-reports.ts';
export { FunctionLanes } from './functions/function-lanes.ts';
export * from './functions/function-library.ts';
export {
  BULL_PREFIX,
  InvalidKeyPart,
  nodeAddress,
  parseNodeAddress,
  shardNames,
  shardOf,
} from './keys.ts';
export { KeyTypes, type WrongKey } from './key-types.ts';
export { KeyWindows, type WindowFill } from './key-windows.ts';
export * from './records/live-budgets.ts';
export type { LiveAccount } from './records/live-account.ts';
export * from './records/live-counts.ts';
export { NO_LIMITS, type LiveLimits, type RateOwner } from './records/live-limits.ts';
export * from './records/live-records.ts';
export {
  UnreadableBalance,
  type SubscriptionBalance,
  type SubscriptionRef,
} from './records/subscription-balance.ts';
export * from './records/lost-withdrawals.ts';
export * from './memory-use.ts';
export * from './queue-keys.ts';
export * from './metering/metering-store.ts';
export * from './connection/open-redis.ts';
export * from './reaped-requests.ts';
export { isUnreadable } from './connection/reply-reader.ts';
export * from './shard-keys.ts';
export * from './stored/conversation-uses.ts';
export * from './waiting-usage.ts';
