import type {
  AccessDenied,
  CreditReply,
  LiveAccount,
  LiveSubscription,
  PutReply,
  Recounted,
} from '../src/index.ts';
import { WindowModel } from './window-model.ts';
import {
  isListed,
  type ModelEvent,
  type ModelHold,
  type ModelKey,
  type ModelSubscription,
} from './model-records.ts';

/** Holds the records of one shard: keys, accounts, subscriptions and what was emitted. */
export abstract class ModelShard {
  now: number;
  protected latestMs = 0;
  /** Is null while the shard is fenced. */
  epoch: string | null = 'e1';
  /** Is true after a refill: until running requests have taken their holds again, nothing is admitted or withdrawn and no hold grows. */
  isRestoring = false;
  protected readonly shard: string;
  protected lastEvent = { ms: 0, n: 0 };
  protected lease = { owner: '', until: 0 };
  readonly keys = new Map<string, ModelKey>();
  readonly accounts = new Map<number, LiveAccount>();
  readonly subscriptions = new Map<string, ModelSubscription>();
  readonly holds = new Map<string, ModelHold>();
  readonly outbox: ModelEvent[] = [];
  /** Holds the requests that the reaper ended, until they are known to be booked. */
  readonly reaped = new Set<string>();
  /** Holds what was released by requests that have no hold any more (seq 2), repeated out of the books. */
  protected marks = new Map<
    string,
    { delta: number; payload: string; subscriptionId: number; expiresAt: number }
  >();
  protected readonly windows = new Map<string, WindowModel>();

  constructor(now: number, shard = '') {
    this.now = now;
    this.shard = shard;
  }

  /** Without an epoch, the caller knows the current one. */
  protected isFenced(epoch?: string): boolean {
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
    if (this.isFenced()) return { kind: 'fenced' };
    if ((this.keys.get(key.keyHash)?.revision ?? 0) > key.revision)
      return { kind: 'stale', creditSeq: 0 };
    this.keys.set(key.keyHash, key);
    this.windowsOf(key.keyHash).keep(key);
    return { kind: 'applied', creditSeq: 0 };
  }

  putAccount(account: LiveAccount): PutReply {
    if (this.isFenced()) return { kind: 'fenced' };
    if ((this.accounts.get(account.accountId)?.revision ?? 0) > account.revision)
      return { kind: 'stale', creditSeq: 0 };
    this.accounts.set(account.accountId, account);
    return { kind: 'applied', creditSeq: 0 };
  }

  putSubscription({ accountId, modelId, ...record }: LiveSubscription): PutReply {
    if (this.isFenced()) return { kind: 'fenced' };
    const sub = this.subscription({ accountId, modelId });
    const known = sub.record;
    if (known && (record.generation < known.generation || record.revision < known.revision))
      return { kind: 'stale', creditSeq: sub.creditSeq ?? record.opening?.creditSeq ?? 0 };
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
    return { kind: 'applied', creditSeq: sub.creditSeq };
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
    if (this.isFenced()) return { kind: 'fenced' };
    const sub = this.subscription({ accountId, modelId });
    const last = sub.creditSeq ?? 0;
    if (seq <= last) return { kind: 'duplicate', seq: last };
    if (seq !== last + 1) return { kind: 'gap', seq: last };
    sub.creditSeq = seq;
    sub.balance += deltaTokens;
    sub.credited += deltaTokens;
    return { kind: 'applied', balance: sub.balance };
  }

  /** Corrects and returns subscriptions that hold another sum than their open holds. */
  recount(): Recounted[] {
    if (this.isFenced()) return [];
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

  /** Returns the latest time that the shard has seen; it is written about once a second. */
  lookAtClock(): number {
    const seen = this.latestMs;
    if (this.now > seen + 1_000) this.latestMs = this.now;
    return Math.max(this.now, seen);
  }

  windowsOf(keyHash: string): WindowModel {
    const found = this.windows.get(keyHash) ?? new WindowModel();
    this.windows.set(keyHash, found);
    return found;
  }

  protected emitFor(
    sub: ModelSubscription,
    hold: ModelHold,
    { seq, delta, payload }: { seq: number; delta: number; payload: string },
  ): void {
    hold.emitted.set(seq, { delta, payload });
    this.emit(sub, { rid: hold.rid, seq, delta, payload });
  }

  protected emitAgain(subscription: ModelSubscription, hold: ModelHold, payload: string): void {
    for (const [seq, event] of [...hold.emitted].toSorted(([a], [b]) => a - b)) {
      // The hold was never reaped: seq 0 leaves again with the payload of the call; of a reaped one, with the reaper's.
      const isFinal = seq === 1 || (seq === 0 && !hold.emitted.has(1));
      this.push(subscription, {
        rid: hold.rid,
        seq,
        delta: event.delta,
        payload: isFinal ? payload : event.payload,
      });
    }
  }

  protected emit(
    subscription: ModelSubscription,
    event: Omit<ModelEvent, 'subscription' | 'outboxId'>,
  ): void {
    subscription.balance -= event.delta;
    this.push(subscription, event);
  }

  protected push(
    subscription: ModelSubscription,
    event: Omit<ModelEvent, 'subscription' | 'outboxId'>,
  ): void {
    const { ms, n } = this.lastEvent;
    this.lastEvent = this.now > ms ? { ms: this.now, n: 0 } : { ms, n: n + 1 };
    this.outbox.push({ outboxId: this.lastOutboxId, ...event, subscription });
  }

  /** Is `0-0` before the first event. */
  get lastOutboxId(): string {
    return `${this.lastEvent.ms}-${this.lastEvent.n}`;
  }
}
