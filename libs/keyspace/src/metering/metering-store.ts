import type { SignHold } from '@tollgate/contracts';
import type {
  AccessReply,
  AccessRequest,
  AdmitReply,
  AdmitRequest,
  CheckpointReply,
  CheckpointRequest,
  CreditReply,
  CreditRequest,
  HoldRef,
  InquiryReply,
  InquiryRequest,
  ReapReply,
  RelayReply,
  RelayRequest,
  RestoreReply,
  RestoreRequest,
  SettleReply,
  SettleRequest,
  WithdrawReply,
  WithdrawRequest,
} from './admission.ts';
import type { EpochCache } from '../epochs.ts';
import type { FunctionLibrary } from '../functions/function-library.ts';
import * as calls from './hold-calls.ts';
import { toRelayReply } from './relay-reply.ts';
import { identifier, keys, natural, requestId, shardOf } from '../keys.ts';
import {
  toAccessReply,
  toAdmitReply,
  toCheckpointReply,
  toCreditReply,
  toInquiryReply,
  toReapReply,
  toRestoreReply,
  toSettleReply,
  toWithdrawReply,
} from './metering-replies.ts';

const RELAYED_IDS_MAX = 1_000; // Lua unpacks these onto its stack, which is bounded.

export interface MeteringStoreParts {
  library: FunctionLibrary;
  epochs: EpochCache;
  shards: number;
  /** Signs the use of a hold by the node's MAC, for the hold's reap. */
  signHold?: SignHold;
  /** Is for tests only: it replaces Redis' clock. */
  now?: () => number;
}

/** Is the typed twin of lua/: one method per function, one Redis round trip each. A missing or changed epoch answers `fenced`. Calls that start something look once whether the epoch has changed and try again. `checkpoint`, `restore` and `settle` do not: the epoch of their hold may be gone. */
export class MeteringStore {
  readonly #library: FunctionLibrary;
  readonly #epochs: EpochCache;
  readonly #shards: number;
  readonly #now: () => string;
  readonly #signHold: SignHold;

  constructor({ library, epochs, shards, signHold, now }: MeteringStoreParts) {
    this.#signHold = signHold ?? (() => '');
    this.#library = library;
    this.#epochs = epochs;
    this.#shards = natural(shards, 'shards');
    this.#now = now ? () => String(now()) : () => '';
  }

  shardOf(accountId: number): string {
    return shardOf(accountId, this.#shards);
  }

  admit(request: AdmitRequest): Promise<AdmitReply> {
    const shard = this.shardOf(request.accountId);
    const { concurrencyMax } = request;
    return this.#epochs.refreshingOnce(shard, (epoch) => {
      const { keys: touched, args } = calls.admitCall(shard, request);
      args.unshift(epoch);
      args.push(
        this.#now(),
        request.isCounted === false ? '1' : '',
        request.isWhole === true ? '1' : '',
        request.leavesHalf ? '1' : '',
        this.#macOf(request, 0),
        calls.askedArgument(request),
      );
      return this.#library
        .call('admit', touched, args)
        .then((reply) => toAdmitReply(reply, { epoch, concurrencyMax }));
    });
  }

  access(request: AccessRequest): Promise<AccessReply> {
    const { shard, functionKeys, args } = this.#accessCall(request);
    return this.#epochs.refreshingOnce(shard, async (epoch) =>
      toAccessReply(
        await this.#library.call('access', functionKeys, [epoch, ...args, this.#now()]),
      ),
    );
  }

  /** Does the same as `access`, and counts in a window of a minute of its own: as many as the key's rpm, `limitAtLeast` if that is more; `limitWithoutRpm` for a key without one. */
  inquire(request: InquiryRequest): Promise<InquiryReply> {
    const { shard, functionKeys, args } = this.#accessCall(request);
    const all = [...functionKeys, keys.inquiries(shard, request.keyHash)];
    if (request.isRequest) all.push(keys.windows(shard, request.keyHash));
    return this.#epochs.refreshingOnce(shard, async (epoch) => {
      const limit = natural(request.limitAtLeast, 'limitAtLeast');
      const otherwise = natural(request.limitWithoutRpm, 'limitWithoutRpm');
      const asked = [epoch, ...args, limit, otherwise, this.#now()];
      return toInquiryReply(await this.#library.call('inquire', all, asked));
    });
  }

  #accessCall({ accountId, keyHash, addressHex }: AccessRequest): {
    shard: string;
    functionKeys: string[];
    args: (string | number)[];
  } {
    const shard = this.shardOf(accountId);
    const functionKeys = [
      keys.epoch(shard),
      keys.key(shard, keyHash),
      keys.account(shard, accountId),
      keys.subscribedModels(shard, accountId),
    ];
    return { shard, functionKeys, args: [accountId, addressHex] };
  }

  async checkpoint(request: CheckpointRequest): Promise<CheckpointReply> {
    const shard = this.shardOf(request.accountId);
    const epoch = request.epoch ?? (await this.#epochs.expected(shard));
    if (epoch === null) return { kind: 'fenced' };
    const call = calls.checkpointCall(shard, request);
    const mac = this.#macOf(request, request.usedTokens, request.claims);
    const last = [mac, request.node, natural(request.outputTokens ?? 0, 'outputTokens')];
    const args = [epoch, ...call.args, this.#now(), ...last];
    return toCheckpointReply(await this.#library.call('checkpoint', call.keys, args));
  }

  /** Reads again the epoch that the account's shard has now; null while it has none or is being filled. */
  epochOf(accountId: number): Promise<string | null> {
    return this.#epochs.refresh(this.shardOf(accountId));
  }

  async restore(request: RestoreRequest): Promise<RestoreReply> {
    const { keys, args } = calls.restoreCall(this.shardOf(request.accountId), request);
    const { claims = '' } = request;
    const mac = this.#macOf(request, request.usedTokens, claims);
    return toRestoreReply(
      await this.#library.call('restore', keys, [request.epoch, ...args, this.#now(), mac, claims]),
    );
  }

  async settle(request: SettleRequest): Promise<SettleReply> {
    const { rid, accountId, modelId } = request;
    const shard = this.shardOf(accountId);
    const epoch = request.epoch ?? (await this.#epochs.expected(shard));
    if (epoch === null) return { kind: 'fenced', by: 'epoch' };
    const args = [
      epoch,
      rid,
      accountId,
      modelId,
      natural(request.chargeTokens, 'chargeTokens'),
      request.payload,
      request.reEmit ? 1 : 0,
      this.#now(),
      request.claims ?? '',
      ...calls.ratedArguments(request),
    ];
    const touched = [...this.#settlementKeys(shard, request), keys.budgets(shard, accountId)];
    return toSettleReply(await this.#library.call('settle', touched, args));
  }

  /** The hold comes from `relay`, so it was read in the epoch that is current. */
  reap(hold: HoldRef): Promise<ReapReply> {
    const shard = this.shardOf(hold.accountId);
    return this.#epochs.refreshingOnce(shard, async (epoch) => {
      const args = [epoch, hold.rid, hold.accountId, hold.modelId, this.#now()];
      const touched = [
        ...this.#settlementKeys(shard, hold),
        keys.reaped(shard),
        keys.budgets(shard, hold.accountId),
      ];
      return toReapReply(await this.#library.call('reap', touched, args));
    });
  }

  credit({
    accountId,
    modelId,
    subscriptionId,
    seq,
    deltaTokens,
  }: CreditRequest): Promise<CreditReply> {
    const shard = this.shardOf(accountId);
    const functionKeys = [keys.epoch(shard), keys.subscription(shard, accountId, modelId)];
    const args = [
      identifier(subscriptionId, 'subscription id'),
      identifier(seq, 'credit seq'),
      deltaTokens,
    ];
    return this.#epochs.refreshingOnce(shard, async (epoch) =>
      toCreditReply(await this.#library.call('credit', functionKeys, [epoch, ...args])),
    );
  }

  /** Withdraws tokens. It is refused while a credit is missing: one that arrives later would stay in the closed subscription. */
  withdraw(request: WithdrawRequest): Promise<WithdrawReply> {
    const { accountId, modelId, subscriptionId, withdrawalId, drain, creditSeq } = request;
    const shard = this.shardOf(accountId);
    const functionKeys = [
      keys.epoch(shard),
      keys.subscription(shard, accountId, modelId),
      keys.subscribedModels(shard, accountId),
      keys.outbox(shard),
    ];
    const args = [
      ...[accountId, modelId, identifier(subscriptionId, 'subscription id')],
      requestId(withdrawalId),
      drain ? 1 : 0,
      natural(creditSeq, 'creditSeq'),
    ];
    return this.#epochs.refreshingOnce(shard, async (epoch) =>
      toWithdrawReply(await this.#library.call('withdraw', functionKeys, [epoch, ...args])),
    );
  }

  /** Polls a shard's outbox once. It is not fenced: an outbox is emptied whatever happened to its shard. */
  async relay(shard: string, request: RelayRequest): Promise<RelayReply> {
    const reply = toRelayReply(await this.#relay(shard, request), shard);
    if (!reply) throw new RangeError('leaseMs must be positive; give a lease up with releaseRelay');
    return reply;
  }

  /** Forgets what was relayed and lets another node take the shard at once. */
  async releaseRelay(
    shard: string,
    { owner, relayedIds }: Pick<RelayRequest, 'owner' | 'relayedIds'>,
  ): Promise<void> {
    await this.#relay(shard, {
      owner,
      relayedIds,
      leaseMs: 0,
      entriesMax: 0,
      bytesMax: 0,
      expiredHoldsMax: 0,
    });
  }

  #relay(
    shard: string,
    { owner, leaseMs, relayedIds, entriesMax, bytesMax, expiredHoldsMax }: RelayRequest,
  ): Promise<unknown> {
    if (relayedIds.length > RELAYED_IDS_MAX)
      throw new RangeError(`at most ${RELAYED_IDS_MAX} relayed ids at a time`);
    const args = [
      owner,
      leaseMs,
      entriesMax,
      bytesMax,
      expiredHoldsMax,
      keys.holdPrefix(shard),
      this.#now(),
      ...relayedIds,
    ];
    return this.#library.call(
      'relay',
      [
        keys.relay(shard),
        keys.outbox(shard),
        keys.holds(shard),
        keys.epoch(shard),
        keys.latestTime(shard),
      ],
      args,
    );
  }

  #macOf({ rid, accountId, modelId }: HoldRef, usedTokens: number, claims?: string): string {
    return this.#signHold({ rid, accountId, modelId, usedTokens, claims });
  }

  #settlementKeys(shard: string, { rid, accountId, modelId }: HoldRef): string[] {
    return [
      keys.epoch(shard),
      keys.subscription(shard, accountId, modelId),
      keys.hold(shard, rid),
      keys.holds(shard),
      keys.outbox(shard),
      keys.latestTime(shard),
    ];
  }
}
