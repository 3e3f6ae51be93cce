import type {
  CheckpointReply,
  CheckpointRequest,
  RestoreReply,
  RestoreRequest,
  SettleReply,
  SettleRequest,
} from '@tollgate/keyspace';

export type FencedBy = Extract<SettleReply, { kind: 'fenced' }>['by'];

/** Lists the calls of this folder to the live balances; `MeteringStore` of libs/keyspace fits. Each throws when Redis does not answer. */
export interface MeteringPort {
  settle(request: SettleRequest): Promise<SettleReply>;
  checkpoint(request: CheckpointRequest): Promise<CheckpointReply>;
  /** Null while the account's shard is fenced. */
  epochOf(accountId: number): Promise<string | null>;
  restore(request: RestoreRequest): Promise<RestoreReply>;
}
