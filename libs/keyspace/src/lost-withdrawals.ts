import type { EpochCache } from './epochs.ts';
import type { FunctionLibrary } from './function-library.ts';
import { identifier, keys, natural, requestId, shardOf } from './keys.ts';
import { ReplyReader } from './reply-reader.ts';

/** A withdrawal (seq 0) as the ledger has it. */
export interface RepeatWithdrawalRequest {
  accountId: number;
  modelId: number;
  subscriptionId: number;
  withdrawalId: string;
  tokens: number;
}
/** What the request `rid` released into a withdrawal (seq 2), as the ledger has it. */
export interface RepeatReleaseRequest extends RepeatWithdrawalRequest {
  rid: string;
}
export type RepeatReply =
  | { kind: 'repeated' }
  /** Redis knows it. */
  | { kind: 'duplicate' }
  /** The hold is open: settling it releases the tokens. */
  | { kind: 'open' }
  | { kind: 'not_found' }
  | { kind: 'fenced' };

export interface LostWithdrawalsParts {
  library: FunctionLibrary;
  epochs: EpochCache;
  shards: number;
}

/** Brings withdrawals that the ledger knows back into a Redis that has lost the end of what it wrote. Repeating one it knows changes nothing. */
export class LostWithdrawals {
  readonly #library: FunctionLibrary;
  readonly #epochs: EpochCache;
  readonly #shards: number;

  constructor({ library, epochs, shards }: LostWithdrawalsParts) {
    this.#library = library;
    this.#epochs = epochs;
    this.#shards = natural(shards, 'shards');
  }

  /** In the order of their ids, and before what was released into them. */
  repeatWithdrawal(request: RepeatWithdrawalRequest): Promise<RepeatReply> {
    const shard = shardOf(request.accountId, this.#shards);
    return this.#call('repeat_withdrawal', shard, this.#bookKeys(shard, request), request);
  }

  repeatRelease(request: RepeatReleaseRequest): Promise<RepeatReply> {
    const shard = shardOf(request.accountId, this.#shards);
    const functionKeys = [...this.#bookKeys(shard, request), keys.hold(shard, request.rid)];
    return this.#call('repeat_release', shard, functionKeys, request);
  }

  #bookKeys(shard: string, { accountId, modelId }: RepeatWithdrawalRequest): string[] {
    return [keys.epoch(shard), keys.subscription(shard, accountId, modelId)];
  }

  #call(
    name: 'repeat_withdrawal' | 'repeat_release',
    shard: string,
    functionKeys: string[],
    { subscriptionId, withdrawalId, tokens }: RepeatWithdrawalRequest,
  ): Promise<RepeatReply> {
    const args = [
      identifier(subscriptionId, 'subscription id'),
      requestId(withdrawalId),
      natural(tokens, 'tokens'),
    ];
    return this.#epochs.refreshingOnce(shard, async (epoch) => {
      const reply = await this.#library.call(name, functionKeys, [epoch, ...args]);
      return REPEAT_REPLIES[
        new ReplyReader(reply).oneOf('OK', 'DUPLICATE', 'OPEN', 'NOT_FOUND', 'FENCED')
      ];
    });
  }
}

const REPEAT_REPLIES = {
  OK: { kind: 'repeated' },
  DUPLICATE: { kind: 'duplicate' },
  OPEN: { kind: 'open' },
  NOT_FOUND: { kind: 'not_found' },
  FENCED: { kind: 'fenced' },
} as const;
