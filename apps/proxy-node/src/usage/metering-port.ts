import type {
  CheckpointReply,
  CheckpointRequest,
  RestoreReply,
  RestoreRequest,
  SettleReply,
  SettleRequest,
} from '@tollgate/keyspace';

export type FencedBy = Extract<SettleReply, { kind: 'fenced' }>['by'];

/** Lists this folder's calls to the live balances; `MeteringStore` of libs/keyspace implements it. Each call throws when Redis does not answer. */
export interface MeteringPort {
  settle(request: SettleRequest): Promise<SettleReply>;
  checkpoint(request: CheckpointRequest): Promise<CheckpointReply>;
  /** Returns null while the account's shard is fenced. */
  epochOf(accountId: number): Promise<string | null>;
  restore(request: RestoreRequest): Promise<RestoreReply>;
}
