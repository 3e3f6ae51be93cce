import type {
  AdmitReply,
  AdmitRequest,
  CheckpointReply,
  CheckpointRequest,
  HoldRef,
  ReapReply,
  RestoreReply,
  RestoreRequest,
  SettleReply,
  SettleRequest,
} from '../src/index.ts';
import {
  boughtSoon,
  markerTtlMs,
  REAPED_TTL_MS,
  halfOf,
  isAllowed,
  noteUsed,
  reapPayload,
  SETTLED_MARKER_MS,
  whileRestoring,
  withdrawPayload,
  withMac,
  type ModelHold,
  type ModelKey,
  type ModelSubscription,
  type Signed,
} from './model-records.ts';
import { ModelShard } from './model-shard.ts';

/** Applies requests to a shard. */
export abstract class ModelRequests extends ModelShard {
  admit(request: AdmitRequest & Signed, address: string): AdmitReply {
    const { epoch } = this;
    if (epoch === null || this.isRestoring) return { kind: 'fenced' };
    const known = this.holds.get(request.rid);
    if (known && known.state !== 'open') return endedDuplicate(known.state, epoch);
    if (known)
      return {
        kind: 'duplicate',
        state: known.state,
        grantedTokens: known.amount,
        keyId: known.keyId,
        subscriptionId: known.subscriptionId,
        generation: known.generation,
        claims: '',
        epoch,
      };
    if (this.marks.has(request.rid)) return endedDuplicate('done', epoch);
    const denied = this.callerDenied({ ...request, address });
    if (denied) return denied;
    const key = this.keys.get(request.keyHash) as ModelKey;
    if (!isAllowed(key.allowedModels, request.modelName)) return { kind: 'model_not_allowed' };
    const sub = this.subscription(request);
    if (sub.record?.status === 'closing') return { kind: 'subscription_closing' };
    if (sub.record?.status !== 'active') return { kind: 'not_subscribed' };
    if (request.concurrencyMax > 0 && sub.running >= request.concurrencyMax)
      return { kind: 'concurrency_exceeded', limit: request.concurrencyMax };
    const windows = this.windowsOf(request.keyHash);
    const full = windows.denial(key, this.now);
    if (full) return { kind: 'rate_limited', ...full };
    const { balance, held } = sub;
    const { minTokens, wantTokens } = request;
    const coveredTokens = Math.min(wantTokens, balance - held);
    const bought = boughtSoon(sub, minTokens);
    const needed = request.isWhole && coveredTokens >= minTokens ? wantTokens : minTokens;
    if (bought > 0 && balance - held < needed && balance - held + bought >= needed)
      return { kind: 'recharge_due' };
    if (balance + bought < minTokens)
      return {
        kind: 'balance_too_low',
        balance,
        subscriptionId: sub.record.id,
        dueTokens: bought,
      };
    if (coveredTokens < minTokens) return { kind: 'tokens_held', balance, held, dueTokens: bought };
    const grantedTokens = request.leavesHalf
      ? Math.min(wantTokens, halfOf(balance - held, minTokens))
      : coveredTokens;
    windows.count(key, this.now);
    sub.held += grantedTokens;
    sub.running += 1;
    const { id: subscriptionId, generation } = sub.record;
    this.holds.set(request.rid, {
      ...{
        rid: request.rid,
        accountId: request.accountId,
        modelId: request.modelId,
        state: 'open',
        amount: grantedTokens,
        used: 0,
        charged: 0,
      },
      ...{
        deadline: this.now + request.leaseMs,
        expiresAt: 0,
        generation,
        keyId: key.id,
        subscriptionId,
        emitted: new Map(),
      },
      mac: request.mac ?? '',
      reapPayload: reapPayload({ ...request, keyId: key.id, subscriptionId }),
    });
    return {
      kind: 'admitted',
      grantedTokens,
      availableTokens: sub.balance - sub.held,
      keyId: key.id,
      subscriptionId,
      generation,
      expiresAtMs: key.expiresAtMs,
      outputTokensMax: 0,
      epoch,
      claims: '',
      windows: windows.states(key, this.now),
    };
  }

  checkpoint(request: CheckpointRequest & Signed): CheckpointReply {
    if (this.isFenced(request.epoch)) return { kind: 'fenced' };
    const hold = this.holds.get(request.rid);
    if (hold?.state !== 'open') return { kind: 'gone', state: hold?.state ?? 'none' };
    const sub = this.subscription(request);
    const records = [
      { record: this.keys.get(request.keyHash), good: 'enabled' },
      { record: this.accounts.get(request.accountId), good: 'active' },
      { record: sub.record, good: 'active' },
    ];
    noteUsed(hold, request);
    hold.deadline = this.now + request.leaseMs;
    if (records.some(({ record, good }) => !record || (record.status !== good && !record.drain)))
      return { kind: 'stop', heldTokens: hold.amount };
    if (this.isRestoring) return whileRestoring(hold, request);
    const isOfNow = sub.record?.generation === hold.generation;
    const extendedTokens = isOfNow
      ? Math.min(request.extendTokens, Math.max(0, sub.balance - sub.held))
      : 0;
    hold.amount += extendedTokens;
    sub.held += extendedTokens;
    const isRechargeDue =
      isOfNow && extendedTokens < request.extendTokens && boughtSoon(sub, 0) > 0;
    return { kind: 'ok', heldTokens: hold.amount, extendedTokens, isRechargeDue };
  }

  restore(request: RestoreRequest & Signed): RestoreReply {
    if (this.isFenced(request.epoch)) return { kind: 'fenced' };
    const known = this.holds.get(request.rid);
    if (known && known.state !== 'open') return { kind: 'gone', state: known.state };
    if (this.marks.has(request.rid)) return { kind: 'gone', state: 'done' };
    if (known) {
      noteUsed(known, request);
      known.deadline = this.now + request.leaseMs;
      return { kind: 'restored', heldTokens: known.amount };
    }
    const sub = this.subscription(request);
    if (sub.record?.id !== request.subscriptionId) return { kind: 'gone', state: 'none' };
    const {
      rid,
      accountId,
      modelId,
      generation,
      keyId,
      subscriptionId,
      usedTokens: used,
    } = request;
    const amount = Math.max(0, Math.min(request.wantTokens, sub.balance - sub.held));
    sub.held += amount;
    sub.running += 1;
    this.holds.set(rid, {
      ...{
        rid,
        accountId,
        modelId,
        state: 'open',
        amount,
        used,
        charged: 0,
        deadline: this.now + request.leaseMs,
        expiresAt: 0,
      },
      generation,
      keyId,
      subscriptionId,
      emitted: new Map(),
      mac: request.mac ?? '',
      reapPayload: reapPayload(request),
    });
    return { kind: 'restored', heldTokens: amount };
  }

  settle(request: SettleRequest & { startedMs: number }): SettleReply {
    if (this.isFenced(request.epoch)) return { kind: 'fenced', by: 'epoch' };
    const sub = this.subscription(request);
    const hold = this.holds.get(request.rid);
    const latest = this.lookAtClock();
    if (hold?.state === 'done') {
      if (request.reEmit) {
        this.emitAgain(sub, hold, request.payload);
        hold.expiresAt = latest + markerTtlMs(hold.emitted);
      }
      return { kind: 'duplicate' };
    }
    if (!hold && latest - request.startedMs >= SETTLED_MARKER_MS)
      return { kind: 'fenced', by: 'age' };
    const from = hold?.state ?? 'none';
    const seq = from === 'reaped' ? 1 : 0;
    const delta = request.chargeTokens - (from === 'reaped' ? (hold as ModelHold).charged : 0);
    const ended = hold ?? this.unknownHold(request);
    if (from === 'open') this.close(sub, ended);
    this.emitFor(sub, ended, { seq, delta, payload: request.payload });
    ended.charged = request.chargeTokens;
    if (from === 'open') this.withdrawReleased(sub, ended, ended.amount - delta);
    if (from === 'reaped' && !ended.emitted.has(2)) this.withdrawReleased(sub, ended, -delta);
    ended.state = 'done';
    ended.expiresAt = latest + markerTtlMs(ended.emitted);
    return { kind: 'settled', balance: sub.balance, from };
  }

  reap(ref: HoldRef): ReapReply {
    if (this.isFenced()) return { kind: 'fenced' };
    const hold = this.holds.get(ref.rid);
    if (hold?.state !== 'open') return { kind: 'not_open' };
    if (hold.deadline > this.now) return { kind: 'alive' };
    const latest = this.lookAtClock();
    const sub = this.subscription(ref);
    this.close(sub, hold);
    this.reaped.add(hold.rid);
    hold.state = 'reaped';
    hold.expiresAt = latest + REAPED_TTL_MS;
    hold.charged = hold.used;
    this.emitFor(sub, hold, {
      seq: 0,
      delta: hold.used,
      payload: withMac(hold.reapPayload, hold.mac),
    });
    this.withdrawReleased(sub, hold, hold.amount - hold.used);
    return { kind: 'reaped', chargedTokens: hold.used };
  }

  protected close(sub: ModelSubscription, hold: ModelHold): void {
    sub.held -= hold.amount;
    sub.running -= 1;
  }

  protected withdrawReleased(sub: ModelSubscription, hold: ModelHold, released: number): void {
    const isLeaving =
      sub.record !== null &&
      sub.withdrawalId !== null &&
      (sub.record.status !== 'active' || hold.generation < sub.record.generation);
    const tokens = Math.min(released, sub.balance - sub.held);
    if (isLeaving && hold.subscriptionId !== 0 && tokens > 0)
      this.emitFor(sub, hold, {
        seq: 2,
        delta: tokens,
        payload: withdrawPayload(sub.withdrawalId ?? '', hold.subscriptionId, hold),
      });
  }

  protected unknownHold({ rid, accountId, modelId }: HoldRef): ModelHold {
    const mark = this.marks.get(rid);
    this.marks.delete(rid);
    const hold: ModelHold = {
      rid,
      accountId,
      modelId,
      state: 'done',
      amount: 0,
      used: 0,
      charged: 0,
      deadline: 0,
      expiresAt: 0,
      generation: 0,
      keyId: 0,
      subscriptionId: mark?.subscriptionId ?? 0,
      reapPayload: '',
      mac: '',
      emitted: new Map(mark && [[2, mark]]),
    };
    this.holds.set(rid, hold);
    return hold;
  }

  /** Returns open holds in the order of their deadlines. */
  protected openHolds(isMeant: (deadline: number) => boolean): ModelHold[] {
    return [...this.holds.values()]
      .filter((hold) => hold.state === 'open' && isMeant(hold.deadline))
      .toSorted((a, b) => a.deadline - b.deadline || (a.rid < b.rid ? -1 : 1));
  }
}

function endedDuplicate(state: 'reaped' | 'done', epoch: string): AdmitReply {
  const none = { grantedTokens: 0, keyId: 0, subscriptionId: 0, generation: 0, claims: '' };
  return { kind: 'duplicate', state, ...none, epoch };
}
