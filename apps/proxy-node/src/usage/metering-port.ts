import type { CheckpointReply, CheckpointRequest, SettleReply, SettleRequest } from '@tollgate/keyspace';

/** What this folder needs of the live balances; `MeteringStore` of libs/keyspace fits. Each throws when Redis does not answer. */
export interface MeteringPort {
  settle(request: SettleRequest): Promise<SettleReply>;
  checkpoint(request: CheckpointRequest): Promise<CheckpointReply>;
}
