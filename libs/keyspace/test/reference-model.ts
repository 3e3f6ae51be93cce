import { BlockList } from 'node:net';
import type {
  AccessDenied,
  AdmitReply,
  AdmitRequest,
  CheckpointReply,
  CheckpointRequest,
  CreditReply,
  HoldRef,
  LiveAccount,
  LiveKey,
  LiveSubscription,
  PutReply,
  ReapReply,
  RelayReply,
  RelayRequest,
  RestoreReply,
  RestoreRequest,
  SettleReply,
  SettleRequest,
  WithdrawReply,
  WithdrawRequest,
} from '../src/index.ts';
import type {
  Recounted,
  RepeatReleaseRequest,
  RepeatReply,
  RepeatWithdrawalRequest,
} from '../src/index.ts';
import { WindowModel } from './window-model.ts';

export interface ModelHold extends HoldRef {
  state: 'open' | 'reaped' | 'done';
  amount: number;
  used: number;
  charged: number;
  deadline: number;
  generation: number;
  keyId: number;
  subscriptionId: number;
  reapPayload: string;
  /** Of its node, over `used`. */
  mac: string;
  /** By Redis' clock; set once it is done or reaped. */
  expiresAt: number;
  /** Deltas by seq, and the payloads they left with. */
  emitted: Map<number, { delta: number; payload: string }>;
}

/** The MAC of the node over what its hold has used. */
interface Signed {
  mac?: string;
}

export interface ModelSubscription {
  record: Pick<
    LiveSubscription,
    'id' | 'status' | 'generation' | 'drain' | 'revision' | 'autoRecharge'
  > | null;
  balance: number;
  held: number;
  running: number;
  /** Null until a credit or a record came. */
  creditSeq: number | null;
  withdrawalId: string | null;
  taken: number;
  /** Everything credited and everything that left, for I3. */
  credited: number;
}

export interface ModelEvent {
  outboxId: string;
  rid: string;
  seq: number;
  delta: number;
  payload: string;
  subscription: ModelSubscription;
}

/** What a tester may write as a key's allow-list, kept as written. */
export type ModelKey = Omit<LiveKey, 'allowlist'> & {
  allowlist: readonly { address: string; bits: number; family: 'ipv4' | 'ipv6' }[];
};

const SETTLED_MARKER_MS = 14 * 60_000;
const DONE_TTL_MS = 15 * 60_000;
const REAPED_TTL_MS = 24 * 60 * 60_000;
/** No lease is longer; one that is was taken while the clock was ahead. */
const LEASE_MAX_MS = 10 * 60_000;
const LEASE_ANEW_MS = 60_000;

/** One shard, restated in plain TypeScript: no clamps, no formats, no order of writes. Replies are those of MeteringStore. */
export class ReferenceModel {
  now: number;
  #latestMs = 0;
  /** Null while the shard is fenced. */
  epoch: string | null = 'e1';
  /** Filled again: until running requests have taken their holds again, nothing is admitted or withdrawn and no hold grows. */
  isRestoring = false;
  readonly #shard: string;
  #lastEvent = { ms: 0, n: 0 };
  #lease = { owner: '', until: 0 };
  readonly keys = new Map<string, ModelKey>();
  readonly accounts = new Map<number, LiveAccount>();
  readonly subscriptions = new Map<string, ModelSubscription>();
  readonly holds = new Map<string, ModelHold>();
  readonly outbox: ModelEvent[] = [];
  /** What was released by requests that have no hold any more (seq 2), repeated out of the books. */
  #marks = new Map<
    string,
    { delta: number; payload: string; subscriptionId: number; expiresAt: number }
  >();
  readonly #windows = new Map<string, WindowModel>();

  constructor(now: number, shard = '') {
    this.now = now;
    this.#shard = shard;
  }

  /** Subscriptions that hold another sum than their open holds, which is set right. */
  recount(): Recounted[] {
    if (this.#isFenced()) return [];
    return [...this.subscriptions].flatMap(([name, sub]) => {
      const open = [...this.holds.values()].filter(
        (hold) => hold.state === 'open' && `${hold.accountId}:${hold.modelId}` === name,
      );
      const held = open.reduce((sum, { amount }) => sum + amount, 0);
      if (sub.held === held && sub.running === open.length) return [];
      const before = String(sub.held);
      Object.assign(sub, { held, running: open.length });
      const [accountId = 0, modelId = 0] = name.split(':').map(Number);
      return [{ accountId, modelId, before, held }];
    });
  }

  /** As it is now. Windows of keys are left out. */
  clone(): ReferenceModel {
    const { keys, accounts, subscriptions, holds, outbox } = this;
    const copy = structuredClone({ keys, accounts, subscriptions, holds, outbox });
    const model = new ReferenceModel(this.now, this.#shard);
    model.epoch = this.epoch;
    model.isRestoring = this.isRestoring;
    model.#marks = structuredClone(this.#marks);
    model.#latestMs = this.#latestMs;
    model.#lastEvent = { ...this.#lastEvent };
    model.#lease = { ...this.#lease };
    for (const [name, value] of copy.keys) model.keys.set(name, value);
    for (const [name, value] of copy.accounts) model.accounts.set(name, value);
    for (const [name, value] of copy.subscriptions) model.subscriptions.set(name, value);
    for (const [name, value] of copy.holds) model.holds.set(name, value);
    model.outbox.push(...copy.outbox);
    return model;
  }

  /** What Redis forgets by its own clock. */
  expire(): void {
    for (const [rid, hold] of this.holds)
      if (hold.state !== 'open' && hold.expiresAt <= this.now) this.holds.delete(rid);
    for (const [rid, mark] of this.#marks) if (mark.expiresAt <= this.now) this.#marks.delete(rid);
  }

  /** Without an epoch, the caller knows the current one. */
  #isFenced(epoch?: string): boolean {
    return this.epoch === null || (epoch !== undefined && epoch !== this.epoch);
  }

  subscription({ accountId, modelId }: { accountId: number; modelId: number }): ModelSubscription {
    const name = `${accountId}:${modelId}`;
    const found = this.subscriptions.get(name) ?? {
      record: null,
      balance: 0,
      held: 0,
      running: 0,
      creditSeq: null,
      withdrawalId: null,
      taken: 0,
      credited: 0,
    };
    this.subscriptions.set(name, found);
    return found;
  }

  putKey(key: ModelKey): PutReply {
    if (this.#isFenced()) return { kind: 'fenced' };
    if ((this.keys.get(key.keyHash)?.revision ?? 0) > key.revision) return { kind: 'stale' };
    this.keys.set(key.keyHash, key);
    return { kind: 'applied' };
  }

  putAccount(account: LiveAccount): PutReply {
    if (this.#isFenced()) return { kind: 'fenced' };
    if ((this.accounts.get(account.accountId)?.revision ?? 0) > account.revision)
      return { kind: 'stale' };
    this.accounts.set(account.accountId, account);
    return { kind: 'applied' };
  }

  putSubscription({ accountId, modelId, ...record }: LiveSubscription): PutReply {
    if (this.#isFenced()) return { kind: 'fenced' };
    const sub = this.subscription({ accountId, modelId });
    const known = sub.record;
    if (known && (record.generation < known.generation || record.revision < known.revision))
      return { kind: 'stale' };
    const order = ['active', 'closing', 'closed'];
    const wouldGoBack =
      known?.generation === record.generation &&
      order.indexOf(record.status) < order.indexOf(known.status);
    sub.record = wouldGoBack ? { ...record, status: known.status, drain: known.drain } : record;
    sub.withdrawalId ??= record.withdrawalId;
    if (sub.creditSeq === null) {
      sub.balance += record.opening?.balance ?? 0;
      sub.credited += record.opening?.balance ?? 0;
      sub.creditSeq = record.opening?.creditSeq ?? 0;
    }
    return { kind: 'applied' };
  }

  credit({
    accountId,
    modelId,
    seq,
    deltaTokens,
  }: {
    accountId: number;
    modelId: number;
    seq: number;
    deltaTokens: number;
  }): CreditReply {
    if (this.#isFenced()) return { kind: 'fenced' };
    const sub = this.subscription({ accountId, modelId });
    const last = sub.creditSeq ?? 0;
    if (seq <= last) return { kind: 'duplicate', seq: last };
    if (seq !== last + 1) return { kind: 'gap', seq: last };
    sub.creditSeq = seq;
    sub.balance += deltaTokens;
    sub.credited += deltaTokens;
    return { kind: 'applied', balance: sub.balance };
  }

  repeatWithdrawal(request: RepeatWithdrawalRequest): RepeatReply {
    const sub = this.subscription(request);
    if (this.#isFenced()) return { kind: 'fenced' };
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
    if (this.#isFenced()) return { kind: 'fenced' };
    if (sub.record?.id !== request.subscriptionId) return { kind: 'not_found' };
    const hold = this.holds.get(request.rid);
    if (hold?.emitted.has(2) || this.#marks.has(request.rid)) return { kind: 'duplicate' };
    if (hold?.state === 'open') return { kind: 'open' };
    sub.balance -= request.tokens;
    sub.credited -= request.tokens;
    const event = {
      delta: request.tokens,
      payload: withdrawPayload(request.withdrawalId, request.subscriptionId, request),
    };
    const { rid, subscriptionId } = request;
    const expiresAt = this.now + DONE_TTL_MS;
    if (hold) {
      hold.emitted.set(2, event);
      hold.subscriptionId = subscriptionId;
    } else this.#marks.set(rid, { ...event, subscriptionId, expiresAt });
    return { kind: 'repeated' };
  }

  withdraw({
    accountId,
    modelId,
    withdrawalId,
    subscriptionId,
    drain,
  }: WithdrawRequest): WithdrawReply {
    if (this.#isFenced() || this.isRestoring) return { kind: 'fenced' };
    const sub = this.subscription({ accountId, modelId });
    if (sub.record?.id !== subscriptionId) return { kind: 'not_found' };
    if (sub.withdrawalId === withdrawalId) return { kind: 'duplicate', tokens: sub.taken };
    sub.taken = Math.max(0, sub.balance - sub.held);
    sub.withdrawalId = withdrawalId;
    sub.record = { ...sub.record, status: 'closing', drain };
    this.#emit(sub, {
      rid: withdrawalId,
      seq: 0,
      delta: sub.taken,
      payload: withdrawPayload(withdrawalId, subscriptionId, { accountId, modelId }),
    });
    return { kind: 'withdrawn', tokens: sub.taken, held: sub.held };
  }

  callerDenied({
    accountId,
    keyHash,
    address,
  }: {
    accountId: number;
    keyHash: string;
    address: string;
  }): AccessDenied | undefined {
    const key = this.keys.get(keyHash);
    if (!key || key.status === 'deleted' || key.accountId !== accountId)
      return { kind: 'key_unknown' };
    if (key.status === 'disabled') return { kind: 'key_disabled' };
    if (key.expiresAtMs !== 0 && this.now >= key.expiresAtMs) return { kind: 'key_expired' };
    if (!isListed(key, address)) return { kind: 'address_not_allowed' };
    const status = this.accounts.get(accountId)?.status ?? 'unknown';
    return status === 'active' ? undefined : { kind: 'account_not_active', status };
  }

  admit(request: AdmitRequest & Signed, address: string): AdmitReply {
    const { epoch } = this;
    if (epoch === null || this.isRestoring) return { kind: 'fenced' };
    const known = this.holds.get(request.rid);
    if (known)
      return {
        kind: 'duplicate',
        state: known.state,
        grantedTokens: known.amount,
        keyId: known.keyId,
        subscriptionId: known.subscriptionId,
        generation: known.generation,
        epoch,
      };
    const mark = this.#marks.get(request.rid);
    if (mark) {
      const { subscriptionId } = mark;
      const of = { keyId: 0, subscriptionId, generation: 0, epoch };
      return { kind: 'duplicate', state: 'done', grantedTokens: 0, ...of };
    }
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
      epoch,
      windows: windows.states(key, this.now),
    };
  }

  checkpoint(request: CheckpointRequest & Signed): CheckpointReply {
    if (this.#isFenced(request.epoch)) return { kind: 'fenced' };
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
    if (this.#isFenced(request.epoch)) return { kind: 'fenced' };
    const known = this.holds.get(request.rid);
    if (known && known.state !== 'open') return { kind: 'gone', state: known.state };
    if (this.#marks.has(request.rid)) return { kind: 'gone', state: 'done' };
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
    if (this.#isFenced(request.epoch)) return { kind: 'fenced', by: 'epoch' };
    const sub = this.subscription(request);
    const hold = this.holds.get(request.rid);
    const latest = this.lookAtClock();
    if (hold?.state === 'done') {
      if (request.reEmit) {
        this.#emitAgain(sub, hold, request.payload);
        hold.expiresAt = latest + DONE_TTL_MS;
      }
      return { kind: 'duplicate' };
    }
    if (!hold && latest - request.startedMs >= SETTLED_MARKER_MS)
      return { kind: 'fenced', by: 'age' };
    const from = hold?.state ?? 'none';
    const seq = from === 'reaped' ? 1 : 0;
    const delta = request.chargeTokens - (from === 'reaped' ? (hold as ModelHold).charged : 0);
    const ended = hold ?? this.#unknownHold(request);
    if (from === 'open') this.#close(sub, ended);
    this.#emitFor(sub, ended, { seq, delta, payload: request.payload });
    ended.charged = request.chargeTokens;
    if (from === 'open') this.#withdrawReleased(sub, ended, ended.amount - delta);
    if (from === 'reaped' && !ended.emitted.has(2)) this.#withdrawReleased(sub, ended, -delta);
    ended.state = 'done';
    ended.expiresAt = latest + DONE_TTL_MS;
    return { kind: 'settled', balance: sub.balance, from };
  }

  reap(ref: HoldRef): ReapReply {
    if (this.#isFenced()) return { kind: 'fenced' };
    const hold = this.holds.get(ref.rid);
    if (hold?.state !== 'open') return { kind: 'not_open' };
    if (hold.deadline > this.now) return { kind: 'alive' };
    const latest = this.lookAtClock();
    const sub = this.subscription(ref);
    this.#close(sub, hold);
    hold.state = 'reaped';
    hold.expiresAt = latest + REAPED_TTL_MS;
    hold.charged = hold.used;
    this.#emitFor(sub, hold, {
      seq: 0,
      delta: hold.used,
      payload: withMac(hold.reapPayload, hold.mac),
    });
    this.#withdrawReleased(sub, hold, hold.amount - hold.used);
    return { kind: 'reaped', chargedTokens: hold.used };
  }

  /** Undefined when the lease was given up (`leaseMs` 0). */
  relay({
    owner,
    leaseMs,
    relayedIds,
    entriesMax,
    bytesMax,
    expiredHoldsMax,
  }: RelayRequest): RelayReply | undefined {
    const lease = this.#lease;
    if (lease.owner !== owner && lease.owner !== '' && lease.until > this.now)
      return { kind: 'held_elsewhere', leaseMs: lease.until - this.now };
    const kept = this.outbox.filter(({ outboxId }) => !relayedIds.includes(outboxId));
    this.outbox.splice(0, this.outbox.length, ...kept);
    this.#lease = leaseMs === 0 ? { owner: '', until: 0 } : { owner, until: this.now + leaseMs };
    if (leaseMs === 0) return undefined;
    this.lookAtClock();
    this.#shortenLeases(expiredHoldsMax);
    let bytes = 0;
    const fitting = kept
      .slice(0, entriesMax)
      .filter(
        ({ payload }, index) => (bytes += Buffer.byteLength(payload)) <= bytesMax || index === 0,
      );
    return {
      kind: 'leased',
      shard: this.#shard,
      outboxLength: kept.length,
      expiredHolds: this.#expiredHolds().slice(0, expiredHoldsMax),
      entries: fitting.map(({ outboxId, rid, seq, delta, payload }) => ({
        shard: this.#shard,
        epoch: this.epoch ?? '',
        outboxId,
        rid,
        seq: String(seq),
        delta: String(delta),
        payload,
      })),
    };
  }

  #expiredHolds(): HoldRef[] {
    return this.#openHolds((deadline) => deadline <= this.now).map(
      ({ rid, accountId, modelId }) => ({ rid, accountId, modelId }),
    );
  }

  /** Leases that were taken while the clock was ahead end a minute from now. */
  #shortenLeases(holdsMax: number): void {
    const tooLong = this.#openHolds((deadline) => deadline > this.now + LEASE_MAX_MS);
    for (const hold of tooLong.slice(0, holdsMax)) hold.deadline = this.now + LEASE_ANEW_MS;
  }

  /** In the order of their deadlines. */
  #openHolds(isMeant: (deadline: number) => boolean): ModelHold[] {
    return [...this.holds.values()]
      .filter((hold) => hold.state === 'open' && isMeant(hold.deadline))
      .toSorted((a, b) => a.deadline - b.deadline || (a.rid < b.rid ? -1 : 1));
  }

  /** The latest time the shard has seen; written about once a second. */
  lookAtClock(): number {
    const seen = this.#latestMs;
    if (this.now > seen + 1_000) this.#latestMs = this.now;
    return Math.max(this.now, seen);
  }

  windowsOf(keyHash: string): WindowModel {
    const found = this.#windows.get(keyHash) ?? new WindowModel();
    this.#windows.set(keyHash, found);
    return found;
  }

  #close(sub: ModelSubscription, hold: ModelHold): void {
    sub.held -= hold.amount;
    sub.running -= 1;
  }

  #withdrawReleased(sub: ModelSubscription, hold: ModelHold, released: number): void {
    const isLeaving =
      sub.record !== null &&
      sub.withdrawalId !== null &&
      (sub.record.status !== 'active' || hold.generation < sub.record.generation);
    const tokens = Math.min(released, sub.balance - sub.held);
    if (isLeaving && hold.subscriptionId !== 0 && tokens > 0)
      this.#emitFor(sub, hold, {
        seq: 2,
        delta: tokens,
        payload: withdrawPayload(sub.withdrawalId ?? '', hold.subscriptionId, hold),
      });
  }

  #emitFor(
    sub: ModelSubscription,
    hold: ModelHold,
    { seq, delta, payload }: { seq: number; delta: number; payload: string },
  ): void {
    hold.emitted.set(seq, { delta, payload });
    this.#emit(sub, { rid: hold.rid, seq, delta, payload });
  }

  #emitAgain(subscription: ModelSubscription, hold: ModelHold, payload: string): void {
    for (const [seq, event] of [...hold.emitted].toSorted(([a], [b]) => a - b)) {
      // Of a hold that was never reaped, seq 0 leaves again with the payload of the call; of a reaped one, with the reaper's.
      const isFinal = seq === 1 || (seq === 0 && !hold.emitted.has(1));
      this.#push(subscription, {
        rid: hold.rid,
        seq,
        delta: event.delta,
        payload: isFinal ? payload : event.payload,
      });
    }
  }

  #emit(
    subscription: ModelSubscription,
    event: Omit<ModelEvent, 'subscription' | 'outboxId'>,
  ): void {
    subscription.balance -= event.delta;
    this.#push(subscription, event);
  }

  #push(
    subscription: ModelSubscription,
    event: Omit<ModelEvent, 'subscription' | 'outboxId'>,
  ): void {
    const { ms, n } = this.#lastEvent;
    this.#lastEvent = this.now > ms ? { ms: this.now, n: 0 } : { ms, n: n + 1 };
    this.outbox.push({ outboxId: this.lastOutboxId, ...event, subscription });
  }

  /** `0-0` before the first event. */
  get lastOutboxId(): string {
    return `${this.#lastEvent.ms}-${this.#lastEvent.n}`;
  }

  #unknownHold({ rid, accountId, modelId }: HoldRef): ModelHold {
    const mark = this.#marks.get(rid);
    this.#marks.delete(rid);
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
}

function noteUsed(
  hold: ModelHold,
  { usedTokens, node, mac = '' }: { usedTokens: number; node: string } & Signed,
): void {
  if (usedTokens < hold.used) return;
  hold.used = usedTokens;
  hold.mac = mac;
  hold.reapPayload = JSON.stringify({ ...JSON.parse(hold.reapPayload), node });
}

function withMac(payload: string, mac: string): string {
  return mac === '' ? payload : `${payload.slice(0, -1)},"mac":"${mac}"}`;
}

/** More comes soon. */
function whileRestoring(hold: ModelHold, { extendTokens }: CheckpointRequest): CheckpointReply {
  return {
    kind: 'ok',
    heldTokens: hold.amount,
    extendedTokens: 0,
    isRechargeDue: extendTokens > 0,
  };
}

/** One purchase after the other until the level is above the threshold; one where the balance alone is below the least. */
function boughtSoon({ record, balance, held }: ModelSubscription, leastTokens: number): number {
  if (!record?.autoRecharge) return 0;
  const { threshold, amount } = record.autoRecharge;
  let bought = 0;
  while (balance - held + bought <= threshold) bought += amount;
  return bought === 0 && balance < leastTokens ? amount : bought;
}

function reapPayload(
  of: Pick<
    RestoreRequest,
    'accountId' | 'keyId' | 'subscriptionId' | 'modelId' | 'priceVersionId' | 'node'
  >,
): string {
  return JSON.stringify({
    kind: 'reap',
    account_id: of.accountId,
    key_id: of.keyId,
    subscription_id: of.subscriptionId,
    model_id: of.modelId,
    price_version_id: of.priceVersionId,
    node: of.node,
  });
}

function withdrawPayload(
  withdrawalId: string,
  subscriptionId: number,
  { accountId, modelId }: { accountId: number; modelId: number },
): string {
  return JSON.stringify({
    kind: 'withdraw',
    account_id: accountId,
    subscription_id: subscriptionId,
    model_id: modelId,
    withdrawal_id: withdrawalId,
  });
}

function isListed(key: ModelKey, address: string): boolean {
  if (key.allowlist.length === 0) return true;
  const list = new BlockList();
  for (const entry of key.allowlist) list.addSubnet(entry.address, entry.bits, entry.family);
  return address !== '' && list.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
}

function isAllowed(allowedModels: string, name: string): boolean {
  if (allowedModels.trim() === '') return true;
  const asExpression = (glob: string): RegExp =>
    new RegExp(`^${glob.split('*').map(escaped).join('.*')}$`, 's');
  return allowedModels
    .split(',')
    .some((glob) => glob.trim() !== '' && asExpression(glob.trim()).test(name));
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function halfOf(free: number, minTokens: number): number {
  const half = Math.floor(free / 2);
  return minTokens <= half ? half : minTokens + Math.floor((free - minTokens) / 2);
}
