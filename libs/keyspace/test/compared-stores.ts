import assert from 'node:assert/strict';
import { usagePayloadSchema } from '@tollgate/contracts';
import { LostWithdrawals, type HoldRef, type SubscriptionRef } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { element } from './element.ts';
import type { Pick } from './model-commands.ts';
import { keysOf, subscriptionsOf, type ModelSubscriptionRef } from './model-fixtures.ts';
import { ReferenceModel } from './reference-model.ts';
import type { ModelSubscription } from './model-records.ts';
import { SHARDS, type Tenant } from './world.ts';

/** Counts each reply: a test that never reaches a branch proves nothing about it. */
export type Seen = Map<string, number>;

/** Redis and the reference model side by side, and what must be equal in both. */
export abstract class ComparedStores {
  protected readonly tenant: Tenant;
  protected readonly seen: Seen;
  protected readonly model: ReferenceModel;
  protected readonly requests: { ref: HoldRef; startedMs: number }[] = [];
  protected readonly subs: ModelSubscriptionRef[];
  protected readonly apiKeys: ReturnType<typeof keysOf>;
  /** Holds events as they left Redis, by (rid, seq). */
  protected readonly arrived = new Map<
    string,
    { delta: number; subscription: ModelSubscription }
  >();
  protected readonly settled = new Map<string, number>();
  /** Lists the subscriptions that the command at hand is about. */
  protected touched: SubscriptionRef[] = [];
  protected relayedIds: string[] = [];
  protected modelRelayedIds: string[] = [];
  protected readonly lost: LostWithdrawals;
  protected epochs = 1;
  /** Holds events that were booked before they were repeated: emitted once more they are duplicates. */
  protected readonly repeatedReleases = new Set<string>();
  protected revision = 10;

  constructor(tenant: Tenant, seen: Seen) {
    this.tenant = tenant;
    this.lost = new LostWithdrawals({
      library: tenant.library,
      epochs: tenant.epochCache,
      shards: SHARDS,
      now: () => tenant.clock.now,
    });
    this.seen = seen;
    this.model = new ReferenceModel(tenant.clock.now, tenant.shard);
    this.subs = subscriptionsOf(tenant);
    this.apiKeys = keysOf(tenant);
  }

  protected arrive({
    rid,
    seq,
    delta,
    payload,
    subscription,
  }: ReferenceModel['outbox'][number]): void {
    const known = this.arrived.get(`${rid}:${seq}`);
    if (known)
      assert.equal(known.delta, delta, 'I2: an event has one delta however often it comes');
    this.arrived.set(`${rid}:${seq}`, { delta, subscription });
    if (!payload.startsWith('{"final"'))
      assert.ok(usagePayloadSchema.safeParse(JSON.parse(payload)).success, payload);
  }

  protected async checkBalances(subs: SubscriptionRef[]): Promise<void> {
    const found = await this.tenant.live.getBalances(subs);
    for (const [index, sub] of subs.entries()) {
      const { record, balance, held, running, creditSeq } = this.model.subscription(sub);
      const open = [...this.model.holds.values()].filter(
        (hold) =>
          hold.state === 'open' && hold.accountId === sub.accountId && hold.modelId === sub.modelId,
      );
      assert.equal(
        held,
        open.reduce((sum, hold) => sum + hold.amount, 0),
        'I4: held is the sum of the open holds',
      );
      assert.equal(running, open.length, 'I4: running is the number of open holds');
      const { accountId, modelId } = sub;
      const want = record && {
        accountId,
        modelId,
        status: record.status,
        id: record.id,
        generation: record.generation,
        revision: record.revision,
        balance,
        held,
        running,
        creditSeq,
      };
      assert.deepEqual(found[index], want);
    }
  }

  protected async checkSubscribedModels(): Promise<void> {
    const { redis, shard, accountId, otherAccountId } = this.tenant;
    for (const account of [accountId, otherAccountId]) {
      const found = (await redis.smembers(keys.subscribedModels(shard, account))).map(Number);
      assert.deepEqual(
        found.toSorted((a, b) => a - b),
        this.activeModels(account),
      );
    }
  }

  protected activeModels(accountId: number): number[] {
    return this.subs
      .filter(
        (sub) =>
          sub.accountId === accountId && this.model.subscription(sub).record?.status === 'active',
      )
      .map((sub) => sub.modelId);
  }

  protected sub(index: number): ModelSubscriptionRef {
    const sub = element(this.subs, index);
    this.touched.push(sub);
    return sub;
  }

  protected keyOf(ref: HoldRef): { keyHash: string } {
    return element(
      this.apiKeys.filter((key) => key.accountId === ref.accountId),
      0,
    );
  }

  /** A request belongs to one subscription, and begins when it is first named. */
  protected rid({ of, nth }: Pick): { ref: HoldRef; startedMs: number } {
    const open = this.requests.filter(({ ref }) => this.model.holds.get(ref.rid)?.state === 'open');
    const candidates = of === 'open' && open.length > 0 ? open : this.requests;
    if (of !== 'new' && candidates.length > 0) {
      const known = element(candidates, nth);
      this.touched.push(known.ref);
      return known;
    }
    const { accountId, modelId } = this.sub(element([0, 0, 1, 2], nth));
    const request = {
      ref: { rid: this.tenant.rid(), accountId, modelId },
      startedMs: this.model.now,
    };
    this.requests.push(request);
    return request;
  }

  protected nextRevision(step: number): number {
    this.revision += Math.max(0, step);
    return this.revision + Math.min(0, step) * 3;
  }

  protected note(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }
}
