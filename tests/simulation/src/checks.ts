import type { LiveStore } from './redis/live-store.ts';
import { LiveView } from './redis/live-view.ts';
import type { LotRow } from './postgres/rows.ts';
import type { ModelPostgres } from './postgres/model-postgres.ts';
import type { Scheduler } from './scheduler.ts';
import {
  FIRST_SUBSCRIPTIONS,
  FIRST_WALLET,
  MODEL_ID,
  priceInForce,
} from './postgres/first-rows.ts';
import type { FaultKind } from './fault-plan.ts';
import { CallChecks } from './redis/call-checks.ts';
import { RechargeNeeds } from './recharge-needs.ts';
import { RepairCauses, ridOf } from './repair-causes.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

const PAID_KINDS = new Set(['subscribe', 'renew', 'auto_recharge']);
const FIRST_WALLETS = BigInt(FIRST_SUBSCRIPTIONS.length) * FIRST_WALLET;

interface Sums {
  balance: number;
  overdraft: number;
  entries: number;
  overdrafts: number;
  remaining: number;
  bought: number;
  charged: number;
  withdrawn: number;
}

const NO_RECORD = { balance: 0, held: 0, running: 0, creditSeq: null };

interface CheckedParts {
  struck: ReadonlySet<FaultKind>;
  redis: LiveStore;
  postgres: ModelPostgres;
  truth: Truth;
  scheduler: Scheduler;
}

/** Checks what must hold after every step. Sums follow the commits, so that a step costs only its change. */
export class Checks {
  readonly #live: LiveView;
  readonly #shardOf: (accountId: number) => string;
  readonly #truth: Truth;
  readonly #sums = new Map<number, Sums>();
  readonly #changed = new Set<number>();
  readonly #chargedNow = new Set<string>();
  readonly #shards = new Set<string>();
  /** Holds `balance - held` of each subscription and what was held, as they were before. */
  readonly #held = new Map<string, number>();
  /** Holds what the reconciliation moved Redis by. */
  readonly repairs: { what: string; step: number }[] = [];
  #ledger = 0n;
  #refunded = 0n;
  #wallets = 0n;
  /** Holds what lots cost, by credit. */
  readonly #costs = new Map<string, bigint>();
  /** Holds what wallets paid for: recharges, and debts of closed subscriptions. */
  readonly #paid: string[] = [];
  /** Counts purchases of auto-recharge. */
  recharges = 0;
  #spent = 0n;
  readonly #needs: RechargeNeeds;
  readonly #causes: RepairCauses;
  #broken: unknown = null;

  constructor(parts: CheckedParts) {
    this.#live = new LiveView(parts.redis);
    this.#shardOf = (accountId) => parts.redis.shardOf(accountId);
    this.#truth = parts.truth;
    this.#needs = new RechargeNeeds(parts);
    this.#causes = new RepairCauses(parts);
    const calls = new CallChecks();
    parts.redis.onChanged = (shard, isLoss = false) => {
      if (shard !== null) this.#shards.add(shard);
      // Tokens that were released or debited last may be held or there again: nothing was taken.
      if (isLoss) {
        this.#held.clear();
        calls.lost();
      }
    };
    parts.redis.onExpiredEarly.push((key) => calls.forgot(ridOf(key)));
    parts.redis.onCalled.push((call, changes) => {
      try {
        calls.after(call, parts.redis.data, changes);
      } catch (error) {
        this.#broken ??= error;
      }
    });
    this.#watch(parts);
  }

  after(): void {
    if (this.#broken !== null) throw this.#broken;
    this.#needs.check();
    for (const credit of this.#paid.splice(0)) this.#spent += this.#costs.get(credit) ?? 0n;
    for (const id of this.#changed) this.#checkBooks(id);
    this.#changed.clear();
    for (const rid of this.#chargedNow) this.#checkCharged(rid);
    this.#chargedNow.clear();
    for (const shard of this.#shards) this.#checkShard(shard);
    this.#shards.clear();
  }

  sumsOf(subscriptionId: number): Sums {
    return this.#of(subscriptionId);
  }

  #watch(parts: CheckedParts): void {
    const { rows } = parts.postgres;
    rows.subscriptions.onChange = (_, after) =>
      after && this.#set(after.id, { balance: after.balance, overdraft: after.overdraft });
    rows.lots.onChange = (before, after) => {
      if (!after) return;
      this.#add(after.subscription_id, {
        remaining: after.remaining - (before?.remaining ?? 0),
        bought: before ? 0 : after.tokens,
      });
      this.#refunded += after.refunded - (before?.refunded ?? 0n);
      this.#checkRefund(after);
      if (!before) this.#checkCost(after, parts);
      this.#costs.set(`${after.subscription_id}:${after.credit_seq}`, after.cost);
    };
    rows.entries.onChange = (_, after) =>
      after && this.#add(after.subscription_id, { entries: after.delta });
    rows.overdrafts.onChange = (_, after) =>
      after && this.#add(after.subscription_id, { overdrafts: after.tokens });
    rows.usage.onChange = (before, after) => {
      // Rows of days that are dropped stay charged.
      if (!after) return;
      this.#causes.booked(after);
      if (before) return;
      if (after.kind === 'withdraw') this.#add(after.subscription_id, { withdrawn: after.delta });
      else this.#charge(after);
    };
    rows.credits.onChange = (before, after) => {
      // The first tokens of each were there before.
      if (!before && after && PAID_KINDS.has(after.kind) && after.seq > 1)
        this.#paid.push(`${after.subscription_id}:${after.seq}`);
      if (after?.kind === 'auto_recharge' && !before) {
        this.recharges += 1;
        this.#needs.bought(after);
      }
      if (after?.kind === 'reconciliation' && !before)
        this.#repaired(after.subscription_id, after.delta, parts.scheduler.steps);
    };
    rows.postingEntries.onChange = (_, after) => void (after && (this.#ledger += after.amount));
    rows.accounts.onChange = (before, after) => {
      if (after?.kind === 'wallet') this.#wallets += after.balance - (before?.balance ?? 0n);
    };
  }

  /** Notes a repair in its commit, where nothing may be thrown. */
  #repaired(id: number, delta: number, step: number): void {
    const what = `subscription ${id}: ${delta} tokens`;
    this.repairs.push({ what, step });
    if (this.#causes.explain(id, delta) === null)
      this.#broken ??= new Violation(`had to be repaired at step ${step}: ${what}`);
  }

  #charge(row: { subscription_id: number; rid: string; seq: number; delta: number }): void {
    this.#add(row.subscription_id, { charged: row.delta });
    this.#truth.book(row);
    this.#chargedNow.add(row.rid);
  }

  #of(id: number): Sums {
    const sums = this.#sums.get(id) ?? {
      balance: 0,
      overdraft: 0,
      entries: 0,
      overdrafts: 0,
      remaining: 0,
      bought: 0,
      charged: 0,
      withdrawn: 0,
    };
    this.#sums.set(id, sums);
    this.#changed.add(id);
    return sums;
  }

  #set(id: number, values: Partial<Sums>): void {
    Object.assign(this.#of(id), values);
  }

  #add(id: number, values: Partial<Sums>): void {
    const sums = this.#of(id);
    for (const [name, value] of Object.entries(values)) sums[name as keyof Sums] += value;
  }

  /** Checks the rule of refunds: a sum would close over any other. */
  #checkRefund({ subscription_id: id, cost, tokens, withdrawn, refunded }: LotRow): void {
    const due = (cost * BigInt(withdrawn)) / BigInt(tokens);
    if (refunded !== due)
      throw new Violation(
        `subscription ${id}: a lot refunded ${refunded} of ${cost} for ${withdrawn} of ${tokens} tokens`,
      );
  }

  /** Prices are locked while tokens are bought: none was set between the sale and its commit. */
  #checkCost({ subscription_id: id, tokens, cost }: LotRow, { postgres }: CheckedParts): void {
    const perMillion = priceInForce(postgres, postgres.nowMs);
    const due = (BigInt(tokens) * perMillion + 999_999n) / 1_000_000n;
    if (cost !== due)
      throw new Violation(`subscription ${id}: ${tokens} tokens cost ${cost}, not ${due}`);
  }

  #checkBooks(id: number): void {
    const sums = this.#of(id);
    const fault = (what: string): never => {
      throw new Violation(`subscription ${id}: ${what}: ${JSON.stringify(sums)}`);
    };
    if (sums.balance < 0) fault('the balance is below zero');
    if (sums.balance !== sums.entries) fault('the balance is not the sum of its entries');
    if (sums.balance !== sums.remaining) fault('the balance is not what the lots hold');
    if (sums.overdraft !== sums.overdrafts) fault('the overdraft is not the sum of its rows');
    if (sums.bought !== sums.balance - sums.overdraft + sums.charged + sums.withdrawn)
      fault('purchases are not balances, charges and refunds');
    if (this.#ledger !== 0n) fault('the ledger does not sum to zero');
    if (this.#wallets !== FIRST_WALLETS + this.#refunded - this.#spent)
      fault('wallets are not what they had, lots refunded and purchases spent');
  }

  #checkCharged(rid: string): void {
    const request = this.#truth.requests.get(rid);
    if (!request && !this.#truth.asked.has(rid))
      throw new Violation(`${rid} was booked and no worker asked for it`);
    const booked = this.#truth.bookedFor(rid);
    // A hold whose worker never learnt of it is reaped: nothing was delivered.
    const limit = request ? (request.charge ?? request.delivered) : 0;
    // A correction that overtakes the reap it corrects stands alone for a moment; together they are the charge.
    if (booked > limit)
      throw new Violation(`${rid} was charged ${booked} tokens and received ${limit}`);
  }

  /** Holds are within the balance when they are taken, and their sum is what the subscription says. */
  #checkShard(shard: string): void {
    // The shard is being filled: holds are forgotten before the balances they are part of, and nothing is admitted until all is written.
    if (!this.#live.isFull(shard)) return;
    const open = new Map<string, { amount: number; count: number }>();
    for (const hold of this.#live.openHolds(shard)) {
      const name = `${hold.accountId}:${hold.modelId}`;
      const sums = open.get(name) ?? { amount: 0, count: 0 };
      open.set(name, { amount: sums.amount + hold.amount, count: sums.count + 1 });
    }
    for (const { accountId } of FIRST_SUBSCRIPTIONS) {
      if (this.#shardOf(accountId) !== shard) continue;
      const name = `${accountId}:${MODEL_ID}`;
      const sub = this.#live.subscription(accountId, MODEL_ID) ?? NO_RECORD;
      const { amount, count } = open.get(name) ?? { amount: 0, count: 0 };
      if (sub.held !== amount || sub.running !== count)
        throw new Violation(
          `Redis, ${name}: ${sub.held} tokens and ${sub.running} requests are held, the holds say ${amount} and ${count}`,
        );
      const before = this.#held.get(name) ?? Infinity;
      if (sub.held > before && sub.held > sub.balance)
        throw new Violation(`Redis, ${name}: ${sub.held} tokens are held of ${sub.balance}`);
      this.#held.set(name, sub.held);
      this.#needs.seen(name, sub);
    }
  }
}
