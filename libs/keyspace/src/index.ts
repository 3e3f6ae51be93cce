export * from './acknowledgements.ts';
export * from './address-allowlist.ts';
export * from './background-marks.ts';
export { ClusterState } from './cluster-state.ts';
export { isModelAllowed } from './allowed-models.ts';
export * from './admission.ts';
export * from './epochs.ts';
export * from './fleet-store.ts';
export { FunctionLanes } from './function-lanes.ts';
export * from './function-library.ts';
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
export * from './live-counts.ts';
export * from './live-records.ts';
export {
  UnreadableBalance,
  type SubscriptionBalance,
  type SubscriptionRef,
} from './subscription-balance.ts';
export * from './lost-withdrawals.ts';
export * from './memory-use.ts';
export * from './queue-keys.ts';
export * from './metering-store.ts';
export * from './open-redis.ts';
export * from './reaped-requests.ts';
export { isUnreadable } from './reply-reader.ts';
export * from './shard-keys.ts';
export * from './stored/conversation-uses.ts';
export * from './waiting-usage.ts';
