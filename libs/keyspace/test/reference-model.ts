import type {
  HoldRef,
  ReapedRequest,
  RelayReply,
  RelayRequest,
  RepeatReapReply,
  RepeatReleaseRequest,
  RepeatReply,
  RepeatWithdrawalRequest,
  WithdrawReply,
  WithdrawRequest,
} from '../src/index.ts';
import {
  REAPED_TTL_MS,
  SETTLED_MARKER_MS,
  withdrawPayload,
  type ModelHold,
} from './model-records.ts';
import { ModelRequests } from './model-requests.ts';

/** No lease is longer; one that is was taken while the clock was ahead. */
const LEASE_MAX_MS = 10 * 60_000;
const LEASE_ANEW_MS = 60_000;

/** Restates one shard in plain TypeScript, without clamps, formats or an order of writes. Replies are those of MeteringStore. */
export class ReferenceModel extends ModelRequests {
  repeatWithdrawal(request: RepeatWithdrawalRequest): RepeatReply {
    const sub = this.subscription(request);
    if (this.isFenced()) return { kind: 'fenced' };
    if (sub.record?.id !== request.subscriptionId) return { kind: 'not_found' };
    if (sub.withdrawalId !== null && sub.withdrawalId >= request.withdrawalId)
      return { kind: 'duplicate' };
    sub.balance -= request.tokens;
    sub.credited -= request.tokens;
    sub.withdrawalId = request.withdrawalId;
    sub.taken = request.tokens;
    return { kind: 'repeated' };
  }

  repeatRelease(request: RepeatReleaseRequest): RepeatReply {
    const sub = this.subscription(request);
    if (this.isFenced()) return { kind: 'fenced' };
    if (sub.record?.id !== request.subscriptionId) return { kind: 'not_found' };
    const hold = this.holds.get(request.rid);
    if (hold?.emitted.has(2) || this.marks.has(request.rid)) return { kind: 'duplicate' };
    if (hold?.state === 'open') return { kind: 'open' };
    const latest = this.lookAtClock();
    if (!hold && latest - request.releasedAtMs >= SETTLED_MARKER_MS) return { kind: 'too_old' };
    sub.balance -= request.tokens;
    sub.credited -= request.tokens;
    const event = {
      delta: request.tokens,
      payload: withdrawPayload(request.withdrawalId, request.subscriptionId, request),
    };
    const { rid, subscriptionId } = request;
    const expiresAt = Math.max(latest, request.releasedAtMs) + REAPED_TTL_MS;
    if (hold) {
      hold.emitted.set(2, event);
      hold.subscriptionId = subscriptionId;
      hold.expiresAt = latest + REAPED_TTL_MS;
    } else this.marks.set(rid, { ...event, subscriptionId, expiresAt });
    return { kind: 'repeated' };
  }

  withdraw({
    accountId,
    modelId,
    withdrawalId,
    subscriptionId,
    drain,
    creditSeq,
  }: WithdrawRequest): WithdrawReply {
    if (this.isFenced() || this.isRestoring) return { kind: 'fenced' };
    const sub = this.subscription({ accountId, modelId });
    if (sub.record?.id !== subscriptionId) return { kind: 'not_found' };
    if (sub.withdrawalId === withdrawalId) return { kind: 'duplicate', tokens: sub.taken };
    // Ids of a subscription's withdrawals rise: an earlier one arrives late.
    if (sub.withdrawalId && sub.withdrawalId > withdrawalId) return { kind: 'not_found' };
    if ((sub.creditSeq ?? 0) < creditSeq) return { kind: 'behind' };
    sub.taken = Math.max(0, sub.balance - sub.held);
    sub.withdrawalId = withdrawalId;
    sub.record = { ...sub.record, status: 'closing', drain };
    this.emit(sub, {
      rid: withdrawalId,
      seq: 0,
      delta: sub.taken,
      payload: withdrawPayload(withdrawalId, subscriptionId, { accountId, modelId }),
    });
    return { kind: 'withdrawn', tokens: sub.taken, held: sub.held };
  }

  /** Returns the present state. Windows of keys are left out. */
  clone(): ReferenceModel {
    const { keys, accounts, subscriptions, holds, outbox } = this;
    const copy = structuredClone({ keys, accounts, subscriptions, holds, outbox });
    const model = new ReferenceModel(this.now, this.shard);
    model.epoch = this.epoch;
    model.isRestoring = this.isRestoring;
    model.marks = structuredClone(this.marks);
    model.latestMs = this.latestMs;
    model.lastEvent = { ...this.lastEvent };
    model.lease = { ...this.lease };
    for (const [name, value] of copy.keys) model.keys.set(name, value);
    for (const [name, value] of copy.accounts) model.accounts.set(name, value);
    for (const [name, value] of copy.subscriptions) model.subscriptions.set(name, value);
    for (const [name, value] of copy.holds) model.holds.set(name, value);
    model.outbox.push(...copy.outbox);
    for (const rid of this.reaped) model.reaped.add(rid);
    return model;
  }

  /** Expires the keys that Redis forgets by its own clock. */
  expire(): void {
    for (const [rid, hold] of this.holds)
      if (hold.state !== 'open' && hold.expiresAt <= this.now) this.holds.delete(rid);
    for (const [rid, mark] of this.marks) if (mark.expiresAt <= this.now) this.marks.delete(rid);
  }

  repeatReap({ rid }: { rid: string }): RepeatReapReply {
    if (this.isFenced()) return { kind: 'fenced' };
    const hold = this.holds.get(rid);
    const charged = hold && chargeOfReap(hold);
    if (!charged) return { kind: 'not_found' };
    const sub = this.subscription(hold);
    this.push(sub, { rid, seq: 0, ...charged });
    const released = hold.emitted.get(2);
    if (released) this.push(sub, { rid, seq: 2, ...released });
    const { subscriptionId } = hold;
    return { kind: 'sent', subscriptionId, chargedTokens: charged.delta };
  }

  unbookedReaps(): ReapedRequest[] {
    return [...this.reaped].flatMap((rid) => {
      const hold = this.holds.get(rid);
      const charged = hold && chargeOfReap(hold);
      return charged ? [{ rid, delta: String(charged.delta), payload: charged.payload }] : [];
    });
  }

  /** Returns undefined when the lease was given up (`leaseMs` 0). */
  relay({
    owner,
    leaseMs,
    relayedIds,
    entriesMax,
    bytesMax,
    expiredHoldsMax,
  }: RelayRequest): RelayReply | undefined {
    const lease = this.lease;
    if (lease.owner !== owner && lease.owner !== '' && lease.until > this.now)
      return { kind: 'held_elsewhere', leaseMs: lease.until - this.now };
    const kept = this.outbox.filter(({ outboxId }) => !relayedIds.includes(outboxId));
    this.outbox.splice(0, this.outbox.length, ...kept);
    this.lease = leaseMs === 0 ? { owner: '', until: 0 } : { owner, until: this.now + leaseMs };
    if (leaseMs === 0) return undefined;
    this.lookAtClock();
    this.shortenLeases(expiredHoldsMax);
    let bytes = 0;
    const fitting = kept
      .slice(0, entriesMax)
      .filter(
        ({ payload }, index) => (bytes += Buffer.byteLength(payload)) <= bytesMax || index === 0,
      );
    return {
      kind: 'leased',
      shard: this.shard,
      outboxLength: kept.length,
      expiredHolds: this.expiredHolds().slice(0, expiredHoldsMax),
      entries: fitting.map(({ outboxId, rid, seq, delta, payload }) => ({
        shard: this.shard,
        epoch: this.epoch ?? 'none',
        outboxId,
        rid,
        seq: String(seq),
        delta: String(delta),
        payload,
      })),
    };
  }

  protected expiredHolds(): HoldRef[] {
    return this.openHolds((deadline) => deadline <= this.now).map(
      ({ rid, accountId, modelId }) => ({ rid, accountId, modelId }),
    );
  }

  /** Leases that were taken while the clock was ahead end a minute from now. */
  protected shortenLeases(holdsMax: number): void {
    const tooLong = this.openHolds((deadline) => deadline > this.now + LEASE_MAX_MS);
    for (const hold of tooLong.slice(0, holdsMax)) hold.deadline = this.now + LEASE_ANEW_MS;
  }
}

/** Returns the charge in its first event, when the reaper wrote it. */
function chargeOfReap({ state, emitted }: ModelHold) {
  return state === 'reaped' || emitted.has(1) ? emitted.get(0) : undefined;
}
