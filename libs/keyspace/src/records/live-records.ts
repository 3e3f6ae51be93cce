import type { EpochCache } from '../epochs.ts';
import type { FunctionLibrary, RedisConnection } from '../functions/function-library.ts';
import { identifier, keys, natural, shardOf } from '../keys.ts';
import {
  NO_LIMITS,
  readLimitsText,
  readRates,
  toLimitsText,
  type LiveLimits,
} from './live-limits.ts';
import type { LiveAccount } from './live-account.ts';
import { lastGeneratedId, ReplyReader } from '../connection/reply-reader.ts';
import { LiveBudgets, withBudgets } from './live-budgets.ts';
import {
  BALANCE_FIELDS,
  readableOf,
  toBalance,
  type SubscriptionBalance,
  type SubscriptionRef,
} from './subscription-balance.ts';

/** One command removes this many holds of a shard. */
const FORGOTTEN_AT_ONCE = 500;

/** Describes the copies in Redis of keys, accounts and subscriptions that every admission reads. The control plane writes them from its rows. */
export interface LiveKey extends LiveLimits {
  accountId: number;
  /** Is the SHA-256 in hex. */
  keyHash: string;
  id: number;
  status: 'enabled' | 'disabled' | 'deleted';
  /** Is the time at which the key expires, in Unix ms; 0 means never. */
  expiresAtMs: number;
  /** Holds comma-separated globs; '' or '*' allows all subscribed models. */
  allowedModels: string;
  /** Is the result of `normaliseAllowlist`; '' means any address. */
  allowlist: string;
  /** Running streams may finish although the key was disabled or deleted. */
  drain: boolean;
  /** Is the row's revision: an older write never replaces a newer one. */
  revision: number;
  /** Holds its budgets as `budgets.lua` reads them; '' without any, as by default. */
  budgets?: string;
}

export interface LiveSubscription {
  accountId: number;
  modelId: number;
  id: number;
  /** Within a generation it only moves on: active, closing, closed. */
  status: 'active' | 'closing' | 'closed';
  generation: number;
  drain: boolean;
  revision: number;
  /** Is the id of the last withdrawal, so that a rebuilt shard still withdraws the tokens that older holds release. */
  withdrawalId: string | null;
  /** Is present while auto-recharge is armed: switched on, and no purchase of it was refused since. Both are in charged tokens. */
  autoRecharge?: { threshold: number; amount: number } | null;
  /** Serves a lost shard: it is used where Redis has no balance for this subscription, or where it `replaces` an altered record. `balance` is balance less overdraft. */
  opening?: { balance: number; creditSeq: number; replaces?: boolean };
}

/** Holds a subscription's balance together with the last event of its shard at that very moment. */
export interface BalanceMark extends SubscriptionBalance {
  shard: string;
  /** Is the id of the last event ever written to the shard's outbox; `0-0` before the first. */
  outboxId: string;
}

export type PutReply =
  /** Has as `creditSeq` the last credit that the balance of a subscription has. */
  { kind: 'applied' | 'stale'; creditSeq: number } | { kind: 'fenced' };

export interface LiveRecordsParts {
  redis: RedisConnection;
  library: FunctionLibrary;
  epochs: EpochCache;
  shards: number;
}

export class LiveRecords {
  readonly budgets: LiveBudgets;
  readonly #redis: RedisConnection;
  readonly #library: FunctionLibrary;
  readonly #epochs: EpochCache;
  readonly #shards: number;

  constructor({ redis, library, epochs, shards }: LiveRecordsParts) {
    this.#redis = redis;
    this.#library = library;
    this.#epochs = epochs;
    this.#shards = shards;
    this.budgets = new LiveBudgets({ redis, shards });
  }

  putKey(record: LiveKey): Promise<PutReply> {
    const shard = shardOf(record.accountId, this.#shards);
    const args = [
      ...[
        natural(record.revision, 'revision'),
        record.status,
        flag(record.drain),
        identifier(record.id, 'key id'),
        record.accountId,
      ],
      ...[record.expiresAtMs, toLimitsText('key', record), record.allowedModels, record.allowlist],
      record.budgets ?? '',
    ];
    const recordKeys = [keys.key(shard, record.keyHash), keys.windows(shard, record.keyHash)];
    return this.#put(shard, 'put_key', recordKeys, args);
  }

  /**
   * Removes the open holds of a shard that is filled again, and its events with the markers of the requests they settle: their nodes know what they charge,
   * and settle again what is not acknowledged. With its marker a request would count as debited from a balance that no longer has its charge.
   * `booked`: reaps that the ledger has taken over, whose charges the new balances have.
   */
  async forgetHolds(shard: string, booked: ReadonlySet<string> = new Set()): Promise<void> {
    const [holds, outbox] = [keys.holds(shard), keys.outbox(shard)];
    const forget = async (all: readonly string[]): Promise<void> => {
      const rids = all.filter((rid) => !booked.has(rid));
      if (rids.length > 0)
        await this.#redis.del(...rids.map((rid) => `${keys.holdPrefix(shard)}${rid}`));
    };
    const open = await this.#redis.zrangebyscore(holds, '-inf', '+inf');
    for (let at = 0; at < open.length; at += FORGOTTEN_AT_ONCE)
      await forget(open.slice(at, at + FORGOTTEN_AT_ONCE));
    for (let after = '-'; ;) {
      const events = await this.#redis.xrange(outbox, after, '+', 'COUNT', FORGOTTEN_AT_ONCE);
      await forget(events.flatMap(([, fields]) => firstChargeOf(fields)));
      const [last] = events.at(-1) ?? [];
      if (events.length < FORGOTTEN_AT_ONCE || last === undefined) break;
      after = `(${last}`;
    }
    await this.#redis.del(holds, outbox, keys.reaped(shard));
  }

  /** Removes a balance of a shard that is filled again. */
  async discardBalance({ accountId, modelId }: SubscriptionRef): Promise<void> {
    const shard = shardOf(accountId, this.#shards);
    await this.#redis.del(keys.subscription(shard, accountId, modelId));
  }

  /** Removes a record that was altered in Redis, the key's or else the account's, to be rewritten from its row at once. */
  async discard(accountId: number, keyHash?: string): Promise<void> {
    const shard = shardOf(accountId, this.#shards);
    const record =
      keyHash === undefined ? keys.account(shard, accountId) : keys.key(shard, keyHash);
    await this.#redis.del(record);
  }

  putAccount(record: LiveAccount): Promise<PutReply> {
    const shard = shardOf(record.accountId, this.#shards);
    return this.#put(
      shard,
      'put_account',
      [keys.account(shard, record.accountId), keys.accountWindows(shard, record.accountId)],
      [
        natural(record.revision, 'revision'),
        record.status,
        flag(record.drain),
        record.budgets ?? '',
        toLimitsText('account', { ...NO_LIMITS, rates: record.rates ?? [] }),
      ],
    );
  }

  putSubscription(record: LiveSubscription): Promise<PutReply> {
    const { accountId, modelId, autoRecharge, opening = { balance: 0, creditSeq: 0 } } = record;
    const shard = shardOf(accountId, this.#shards);
    const args = [
      ...[
        modelId,
        identifier(record.id, 'subscription id'),
        record.status,
        identifier(record.generation, 'generation'),
        flag(record.drain),
      ],
      ...[
        natural(record.revision, 'revision'),
        record.withdrawalId ?? '',
        opening.balance,
        natural(opening.creditSeq, 'creditSeq'),
      ],
      ...[autoRecharge?.threshold ?? 0, autoRecharge?.amount ?? 0, flag(opening.replaces ?? false)],
    ];
    return this.#put(
      shard,
      'put_subscription',
      [keys.subscription(shard, accountId, modelId), keys.subscribedModels(shard, accountId)],
      args,
    );
  }

  /** Returns the live balances of many subscriptions, in the order asked; null where Redis has none. Throws `UnreadableBalance`. Accounts of different shards are never read in one command. */
  getBalances(subscriptions: readonly SubscriptionRef[]): Promise<(SubscriptionBalance | null)[]> {
    return Promise.all(subscriptions.map((subscription) => this.#getBalance(subscription)));
  }

  /** Returns null where Redis has no balance. Throws `UnreadableBalance`. */
  async mark({ accountId, modelId }: SubscriptionRef): Promise<BalanceMark | null> {
    const shard = shardOf(accountId, this.#shards);
    const replies = await this.#redis
      .multi()
      .hmget(keys.subscription(shard, accountId, modelId), ...BALANCE_FIELDS)
      .xinfo('STREAM', keys.outbox(shard))
      .exec();
    const [balance, stream] = replies ?? [];
    if (!balance) throw new Error('the mark was not taken');
    if (balance[0]) await readableOf({ accountId, modelId }, Promise.reject(balance[0]));
    const read = toBalance({ accountId, modelId }, balance[1]);
    // Without a stream XINFO is an error; there was no event yet.
    return read && { ...read, shard, outboxId: stream?.[0] ? '0-0' : lastGeneratedId(stream?.[1]) };
  }

  /** Returns the id of the oldest event that is still in the shard's outbox; null when it is empty. */
  async oldestEvent(shard: string): Promise<string | null> {
    const [entry] = await this.#redis.xrange(keys.outbox(shard), '-', '+', 'COUNT', 1);
    return entry?.[0] ?? null;
  }

  async getKey(accountId: number, keyHash: string): Promise<LiveKey | null> {
    const record = keys.key(shardOf(accountId, this.#shards), keyHash);
    const values = await this.#redis.hmget(record, ...KEY_FIELDS);
    if (values[0] === null) return null;
    const reader = new ReplyReader(withBudgets(values));
    return {
      ...readLimitsText(reader.text()),
      keyHash,
      id: reader.integer(),
      accountId: reader.integer(),
      status: reader.oneOf('enabled', 'disabled', 'deleted'),
      expiresAtMs: reader.integer(),
      allowedModels: reader.text(),
      allowlist: reader.text(),
      drain: reader.text() === '1',
      revision: reader.integer(),
      budgets: reader.text(),
    };
  }

  async getAccount(accountId: number): Promise<LiveAccount | null> {
    const record = keys.account(shardOf(accountId, this.#shards), accountId);
    const values = await this.#redis.hmget(record, 'st', 'drain', 'rev', 'lim', 'bud');
    if (values[0] === null) return null;
    const reader = new ReplyReader(withBudgets(values));
    return {
      accountId,
      status: reader.text(),
      drain: reader.text() === '1',
      revision: reader.integer(),
      rates: readRates(reader.text()),
      budgets: reader.text(),
    };
  }

  async #getBalance(ref: SubscriptionRef): Promise<SubscriptionBalance | null> {
    const record = keys.subscription(
      shardOf(ref.accountId, this.#shards),
      ref.accountId,
      ref.modelId,
    );
    return toBalance(ref, await readableOf(ref, this.#redis.hmget(record, ...BALANCE_FIELDS)));
  }

  #put(
    shard: string,
    name: 'put_key' | 'put_account' | 'put_subscription',
    recordKeys: string[],
    args: (string | number)[],
  ): Promise<PutReply> {
    return this.#epochs.refreshingOnce(shard, async (epoch) => {
      const reply = await this.#library.call(
        name,
        [keys.epoch(shard), ...recordKeys],
        [epoch, ...args],
      );
      const reader = new ReplyReader(reply);
      const kind = PUT_REPLIES[reader.oneOf('OK', 'STALE', 'FENCED')];
      return { kind, creditSeq: reader.isAtEnd ? 0 : reader.integer() };
    });
  }
}

const PUT_REPLIES = { OK: 'applied', STALE: 'stale', FENCED: 'fenced' } as const;
const KEY_FIELDS = 'lim id acct st exp models ips drain rev bud'.split(' ');

/** Returns the request that this event charges first; a correction follows a charge that left before it. */
function firstChargeOf(fields: readonly string[]): string[] {
  const [, rid, , seq] = fields;
  return rid !== undefined && seq === '0' ? [rid] : [];
}

function flag(isOn: boolean): number {
  return isOn ? 1 : 0;
}
