import type { EpochCache } from '../epochs.ts';
import type { FunctionLibrary } from '../functions/function-library.ts';
import { identifier, keys, natural, requestId, shardOf } from '../keys.ts';
import { ReplyReader } from '../connection/reply-reader.ts';

/** Describes a withdrawal (seq 0) as the ledger has it. */
export interface RepeatWithdrawalRequest {
  accountId: number;
  modelId: number;
  subscriptionId: number;
  withdrawalId: string;
  tokens: number;
}
/** Holds what the request `rid` released into a withdrawal (seq 2), as the ledger has it. */
export interface RepeatReleaseRequest extends RepeatWithdrawalRequest {
  rid: string;
  /** Is the time of the release in Unix ms by the shard's clock, from the id of its event. */
  releasedAtMs: number;
}
export type RepeatReply =
  | { kind: 'repeated' }
  /** Redis knows it. */
  | { kind: 'duplicate' }
  /** The hold is open: settling it releases the tokens. */
  | { kind: 'open' }
  /** Redis may have forgotten that it knew it. */
  | { kind: 'too_old' }
  | { kind: 'not_found' }
  | { kind: 'fenced' };

export interface LostWithdrawalsParts {
  library: FunctionLibrary;
  epochs: EpochCache;
  shards: number;
  /** Is for tests only: it replaces Redis' clock. */
  now?: () => number;
}

/** Brings withdrawals that the ledger knows back into a Redis that has lost the end of what it wrote. Repeating a withdrawal that it knows changes nothing. */
export class LostWithdrawals {
  readonly #library: FunctionLibrary;
  readonly #epochs: EpochCache;
  readonly #shards: number;
  readonly #now: () => string;

  constructor({ library, epochs, shards, now }: LostWithdrawalsParts) {
    this.#now = now ? () => String(now()) : () => '';
    this.#library = library;
    this.#epochs = epochs;
    this.#shards = natural(shards, 'shards');
  }

  /** Repeats a withdrawal. Callers do so in the order of their ids, and before what was released into them. */
  repeatWithdrawal(request: RepeatWithdrawalRequest): Promise<RepeatReply> {
    const shard = shardOf(request.accountId, this.#shards);
    const call = { name: 'repeat_withdrawal', keys: this.#bookKeys(shard, request) } as const;
    return this.#call(shard, call, request);
  }

  repeatRelease(request: RepeatReleaseRequest): Promise<RepeatReply> {
    const shard = shardOf(request.accountId, this.#shards);
    const call = {
      name: 'repeat_release',
      keys: [
        ...this.#bookKeys(shard, request),
        keys.hold(shard, request.rid),
        keys.latestTime(shard),
      ],
      more: [natural(request.releasedAtMs, 'releasedAtMs'), this.#now()],
    } as const;
    return this.#call(shard, call, request);
  }

  #bookKeys(shard: string, { accountId, modelId }: RepeatWithdrawalRequest): string[] {
    return [keys.epoch(shard), keys.subscription(shard, accountId, modelId)];
  }

  #call(
    shard: string,
    call: Call,
    { subscriptionId, withdrawalId, tokens }: RepeatWithdrawalRequest,
  ): Promise<RepeatReply> {
    const args = [
      identifier(subscriptionId, 'subscription id'),
      requestId(withdrawalId),
      natural(tokens, 'tokens'),
      ...(call.more ?? []),
    ];
    return this.#epochs.refreshingOnce(shard, async (epoch) => {
      const reply = await this.#library.call(call.name, call.keys, [epoch, ...args]);
      return REPEAT_REPLIES[
        new ReplyReader(reply).oneOf('OK', 'DUPLICATE', 'OPEN', 'TOO_OLD', 'NOT_FOUND', 'FENCED')
      ];
    });
  }
}

interface Call {
  name: 'repeat_withdrawal' | 'repeat_release';
  keys: readonly string[];
  more?: readonly (string | number)[];
}

const REPEAT_REPLIES = {
  OK: { kind: 'repeated' },
  DUPLICATE: { kind: 'duplicate' },
  OPEN: { kind: 'open' },
  TOO_OLD: { kind: 'too_old' },
  NOT_FOUND: { kind: 'not_found' },
  FENCED: { kind: 'fenced' },
} as const;
