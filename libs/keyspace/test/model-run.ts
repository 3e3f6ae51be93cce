import assert from 'node:assert/strict';
import { usagePayloadSchema } from '@tollgate/contracts';
import {
  addressHex,
  LostWithdrawals,
  normaliseAllowlist,
  type HoldRef,
  type RelayBatch,
  type SubscriptionRef,
} from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { element } from './element.ts';
import type { Command, Pick, Sequence } from './model-commands.ts';
import {
  ADDRESSES,
  ALLOWLISTS,
  keysOf,
  LIMITS,
  MODEL_NAMES,
  MODELS,
  subscriptionsOf,
  type ModelSubscriptionRef,
} from './model-fixtures.ts';
import { ReferenceModel, type ModelSubscription } from './reference-model.ts';
import { SHARDS, type Tenant } from './world.ts';

/** How often each reply was seen: a test that never reaches a branch proves nothing about it. */
export type Seen = Map<string, number>;

/** Runs one sequence against Redis and the reference model; throws at the first difference or broken invariant. */
export async function runSequence(
  tenant: Tenant,
  sequence: Sequence,
  seen: Seen = new Map(),
): Promise<void> {
  const run = new ModelRun(tenant, seen);
  if (sequence.isOpened) await run.open();
  for (const command of sequence.commands) await run.step(command);
  await run.finish();
}

class ModelRun {
  readonly #tenant: Tenant;
  readonly #seen: Seen;
  readonly #model: ReferenceModel;
  readonly #requests: { ref: HoldRef; startedMs: number }[] = [];
  readonly #subs: ModelSubscriptionRef[];
  readonly #keys: ReturnType<typeof keysOf>;
  /** Events as they left Redis, by (rid, seq). */
  readonly #arrived = new Map<string, { delta: number; subscription: ModelSubscription }>();
  readonly #settled = new Map<string, number>();
  /** Subscriptions that the command at hand is about. */
  #touched: SubscriptionRef[] = [];
  #relayedIds: string[] = [];
  #modelRelayedIds: string[] = [];
  readonly #lost: LostWithdrawals;
  #epochs = 1;
  /** Events that were booked before they were repeated: emitted once more they are duplicates. */
  readonly #repeatedReleases = new Set<string>();
  #revision = 10;

  constructor(tenant: Tenant, seen: Seen) {
    this.#tenant = tenant;
    this.#lost = new LostWithdrawals({
      library: tenant.library,
      epochs: tenant.epochCache,
      shards: SHARDS,
    });
    this.#seen = seen;
    this.#model = new ReferenceModel(tenant.clock.now, tenant.shard);
    this.#subs = subscriptionsOf(tenant);
    this.#keys = keysOf(tenant);
  }

  async open(): Promise<void> {
    for (const key of [0, 1, 2])
      await this.step({
        type: 'putKey',
        key,
        status: 'enabled',
        limits: key === 0 ? 0 : 1,
        models: 0,
        allowlist: 0,
        expiry: 0,
        drain: false,
        step: 1,
      });
    for (const account of [0, 1])
      await this.step({ type: 'putAccount', account, status: 'active', drain: false, step: 1 });
    for (const sub of [0, 1, 2]) {
      await this.step({
        type: 'putSubscription',
        sub,
        status: 'active',
        generationStep: 0,
        drain: false,
        step: 1,
        opening: 0,
        autoRecharge: null,
      });
      await this.step({ type: 'credit', sub, how: 'next', delta: 2_000 });
    }
  }

  async step(command: Command): Promise<void> {
    this.#touched = [];
    const [got, want] = await this.#execute(command);
    assert.deepEqual(got, want, JSON.stringify(command));
    if (want) this.#note(`${command.type}:${want.kind}`);
    if (this.#touched.length > 0) await this.#checkBalances(this.#touched);
  }

  /** Empties the outbox, then holds everything Redis has against the model. */
  async finish(): Promise<void> {
    for (let polls = 0; polls < 20 && this.#model.outbox.length > 0; polls += 1)
      await this.step({ type: 'relay', entriesMax: 50, bytesMax: 100_000, expiredHoldsMax: 100 });
    await this.step({ type: 'relay', entriesMax: 50, bytesMax: 100_000, expiredHoldsMax: 100 });
    const { redis, shard } = this.#tenant;
    const open = [...this.#model.holds.values()].filter((hold) => hold.state === 'open');
    const leases = await redis.zrange(keys.holds(shard), '0', '-1', 'WITHSCORES');
    const wanted = open
      .toSorted((a, b) => a.deadline - b.deadline || (a.rid < b.rid ? -1 : 1))
      .flatMap((hold) => [hold.rid, String(hold.deadline)]);
    assert.deepEqual(leases, wanted, 'I4: the lease index holds exactly the open holds');
    for (const hold of this.#model.holds.values()) {
      assert.equal(await redis.hget(keys.hold(shard, hold.rid), 'st'), hold.state);
      const charged = [0, 1].reduce(
        (sum, seq) => sum + (this.#arrived.get(`${hold.rid}:${seq}`)?.delta ?? 0),
        0,
      );
      if (hold.state !== 'open')
        assert.equal(charged, hold.charged, 'I7: the deltas of a request sum to its final');
    }
    for (const [name, sub] of this.#model.subscriptions) {
      const left = [...this.#arrived]
        .filter(([key, event]) => event.subscription === sub && !this.#repeatedReleases.has(key))
        .reduce((sum, [, event]) => sum + event.delta, 0);
      assert.equal(sub.balance, sub.credited - left, `I3: ${name}`);
    }
    await this.#checkBalances(this.#subs);
    await this.#checkSubscribedModels();
  }

  async #execute(command: Command): Promise<[unknown, { kind: string } | undefined]> {
    const { clock, store } = this.#tenant;
    const model = this.#model;
    switch (command.type) {
      case 'advance':
        clock.now += command.ms;
        model.now = clock.now;
        return [undefined, undefined];
      case 'putKey':
        return this.#putKey(command);
      case 'putAccount': {
        const account = {
          accountId: element(this.#subs, command.account * 2).accountId,
          status: command.status,
          drain: command.drain,
          revision: this.#nextRevision(command.step),
        };
        return [await this.#tenant.live.putAccount(account), model.putAccount(account)];
      }
      case 'putSubscription':
        return this.#putSubscription(command);
      case 'credit': {
        const sub = this.#sub(command.sub);
        const last = model.subscription(sub).creditSeq ?? 0;
        const seq = Math.max(1, last + { next: 1, again: 0, gap: 2 }[command.how]);
        return [
          await store.credit({ ...sub, seq, deltaTokens: command.delta }),
          model.credit({ ...sub, seq, deltaTokens: command.delta }),
        ];
      }
      case 'admit':
        return this.#admit(command);
      case 'access':
        return this.#access(command);
      case 'checkpoint': {
        const { ref } = this.#rid(command.rid);
        const request = {
          ...ref,
          keyHash: this.#keyOf(ref).keyHash,
          // Of a journal that moves.
          node: `node-${command.used % 3}:0`,
          usedTokens: command.used,
          extendTokens: command.extend,
          leaseMs: command.leaseMs,
        };
        return [await store.checkpoint(request), model.checkpoint(request)];
      }
      case 'restore': {
        const { ref } = this.#rid(command.rid);
        const { subscriptionId } = element(
          this.#subs.filter(
            (sub) => sub.accountId === ref.accountId && sub.modelId === ref.modelId,
          ),
          0,
        );
        const owner = {
          subscriptionId: subscriptionId + (command.isOfAnother ? 100 : 0),
          keyId: 20,
          priceVersionId: 2,
          generation: command.generation,
          node: 'node-1:0',
        };
        const request = {
          ...ref,
          ...owner,
          epoch: model.epoch ?? '',
          wantTokens: command.want,
          usedTokens: command.used,
          leaseMs: command.leaseMs,
        };
        return [await store.restore(request), model.restore(request)];
      }
      case 'settle':
        return this.#settle(command);
      case 'reap': {
        const { ref } = this.#rid(command.rid);
        return [await store.reap(ref), model.reap(ref)];
      }
      case 'withdraw': {
        const sub = this.#sub(command.sub);
        const known = model.subscription(sub).withdrawalId;
        const withdrawalId = command.how === 'again' && known ? known : this.#tenant.rid();
        const request = {
          ...sub,
          subscriptionId: sub.subscriptionId + (command.how === 'other id' ? 100 : 0),
          withdrawalId,
          drain: command.drain,
        };
        return [await store.withdraw(request), model.withdraw(request)];
      }
      case 'repeatWithdrawal':
        return this.#repeatWithdrawal(command);
      case 'repeatRelease':
        return this.#repeatRelease(command);
      case 'fence':
        return this.#fence();
      case 'relay':
        return this.#relay(command);
    }
  }

  async #putKey(
    command: Extract<Command, { type: 'putKey' }>,
  ): Promise<[unknown, { kind: string }]> {
    const allowlist = element(ALLOWLISTS, command.allowlist);
    const record = {
      ...element(this.#keys, command.key),
      ...element(LIMITS, command.limits),
      ...{
        status: command.status,
        drain: command.drain,
        revision: this.#nextRevision(command.step),
        allowedModels: element(MODELS, command.models),
      },
      expiresAtMs: element(
        [0, this.#model.now, this.#model.now + 1, this.#model.now + 100_000],
        command.expiry,
      ),
    };
    const text = allowlist.map(({ address, bits }) => `${address}/${bits}`).join(', ');
    return [
      await this.#tenant.live.putKey({ ...record, allowlist: normaliseAllowlist(text) }),
      this.#model.putKey({ ...record, allowlist }),
    ];
  }

  async #putSubscription(
    command: Extract<Command, { type: 'putSubscription' }>,
  ): Promise<[unknown, { kind: string }]> {
    const { accountId, modelId, subscriptionId: id } = this.#sub(command.sub);
    const generation = Math.max(
      1,
      (this.#model.subscription({ accountId, modelId }).record?.generation ?? 1) +
        command.generationStep,
    );
    const record = {
      ...{
        accountId,
        modelId,
        id,
        status: command.status,
        generation,
        drain: command.drain,
        revision: this.#nextRevision(command.step),
        withdrawalId: null,
        autoRecharge: command.autoRecharge,
      },
      opening: { balance: command.opening, creditSeq: command.opening === 0 ? 0 : 5 },
    };
    return [await this.#tenant.live.putSubscription(record), this.#model.putSubscription(record)];
  }

  async #admit(command: Extract<Command, { type: 'admit' }>): Promise<[unknown, { kind: string }]> {
    const { ref } = this.#rid(command.rid);
    const address = element(ADDRESSES, command.address);
    const own = this.#keys.filter((key) => key.accountId === ref.accountId);
    const foreign = this.#keys.filter((key) => key.accountId !== ref.accountId);
    const key =
      command.key === 'foreign'
        ? element(foreign, 0)
        : element(own, command.key === 'own' ? 0 : own.length - 1);
    const request = {
      ...{
        ...ref,
        keyHash: key.keyHash,
        modelName: element(MODEL_NAMES, command.modelName),
        priceVersionId: 2,
        node: 'node-1:0',
      },
      ...{
        wantTokens: Math.max(command.want, command.min),
        minTokens: command.min,
        leavesHalf: command.want % 2 === 1,
        addressHex: addressHex(address),
      },
      ...{ concurrencyMax: command.concurrencyMax, leaseMs: command.leaseMs },
      isWhole: command.isWhole,
    };
    const want = this.#model.admit(request, address);
    if (want.kind === 'admitted')
      assert.ok(want.availableTokens >= 0, 'I5: no admission leaves balance - held below zero');
    return [await this.#tenant.store.admit(request), want];
  }

  async #access(
    command: Extract<Command, { type: 'access' }>,
  ): Promise<[unknown, { kind: string }]> {
    const { accountId, keyHash, id } = element(this.#keys, command.key);
    const address = element(ADDRESSES, command.address);
    const reply = await this.#tenant.store.access({
      accountId,
      keyHash,
      addressHex: addressHex(address),
    });
    const denied = this.#model.callerDenied({ accountId, keyHash, address });
    const sorted =
      reply.kind === 'allowed'
        ? { ...reply, subscribedModelIds: reply.subscribedModelIds.toSorted((a, b) => a - b) }
        : reply;
    const allowed = {
      kind: 'allowed',
      keyId: id,
      allowedModels: this.#model.keys.get(keyHash)?.allowedModels,
      subscribedModelIds: this.#activeModels(accountId),
    };
    return [sorted, denied ?? allowed];
  }

  async #settle(
    command: Extract<Command, { type: 'settle' }>,
  ): Promise<[unknown, { kind: string }]> {
    const { ref, startedMs } = this.#rid(command.rid);
    const chargeTokens = Math.round(
      (this.#model.holds.get(ref.rid)?.amount ?? 120) * command.factor,
    );
    const request = {
      ...ref,
      chargeTokens,
      payload: JSON.stringify({ final: ref.rid, charge: chargeTokens }),
      reEmit: command.reEmit,
    };
    const want = this.#model.settle({ ...request, startedMs });
    if (want.kind === 'settled') {
      assert.ok(!this.#settled.has(ref.rid), 'I6: a request is done once');
      this.#settled.set(ref.rid, chargeTokens);
    }
    return [await this.#tenant.store.settle(request), want];
  }

  async #relay(command: Extract<Command, { type: 'relay' }>): Promise<[unknown, { kind: string }]> {
    const { store, shard } = this.#tenant;
    const { type: _type, ...bounds } = command;
    const request = { ...bounds, owner: 'model', leaseMs: 600_000 };
    const reply = await store.relay(shard, { ...request, relayedIds: this.#relayedIds });
    assert.equal(reply.kind, 'leased');
    const want = this.#model.relay({ ...request, relayedIds: this.#modelRelayedIds });
    assert.equal(want?.kind, 'leased');
    this.#relayedIds = reply.entries.map((entry) => entry.outboxId);
    this.#modelRelayedIds = want.entries.map((entry) => entry.outboxId);
    for (const event of this.#model.outbox)
      if (this.#modelRelayedIds.includes(event.outboxId)) this.#arrive(event);
    return [withoutOutboxIds(reply), withoutOutboxIds(want)];
  }

  async #repeatWithdrawal(
    command: Extract<Command, { type: 'repeatWithdrawal' }>,
  ): Promise<[unknown, { kind: string }]> {
    const sub = this.#sub(command.sub);
    const known = this.#model.subscription(sub).withdrawalId;
    const request = {
      ...sub,
      subscriptionId: sub.subscriptionId + (command.how === 'other id' ? 100 : 0),
      withdrawalId: command.how === 'known' && known ? known : this.#tenant.rid(),
      tokens: command.tokens,
    };
    return [await this.#lost.repeatWithdrawal(request), this.#model.repeatWithdrawal(request)];
  }

  async #repeatRelease(
    command: Extract<Command, { type: 'repeatRelease' }>,
  ): Promise<[unknown, { kind: string }]> {
    const { ref } = this.#rid(command.rid);
    const { subscriptionId } = element(
      this.#subs.filter((sub) => sub.accountId === ref.accountId && sub.modelId === ref.modelId),
      0,
    );
    const request = {
      ...ref,
      subscriptionId: subscriptionId + (command.isOfAnother ? 100 : 0),
      withdrawalId: this.#model.subscription(ref).withdrawalId ?? this.#tenant.rid(),
      tokens: command.tokens,
    };
    const want = this.#model.repeatRelease(request);
    if (want.kind === 'repeated') this.#repeatedReleases.add(`${ref.rid}:2`);
    return [await this.#lost.repeatRelease(request), want];
  }

  /** While there is no epoch, and of requests from before, nothing is taken. */
  async #fence(): Promise<[unknown, { kind: string }]> {
    const { epochs, epochCache, shard, store } = this.#tenant;
    const before = this.#model.epoch ?? '';
    await epochs.clear(shard);
    this.#model.epoch = null;
    const credit = { ...this.#sub(0), seq: 1, deltaTokens: 1 };
    assert.deepEqual(await store.credit(credit), this.#model.credit(credit));
    this.#epochs += 1;
    this.#model.epoch = `e${this.#epochs}`;
    await epochs.set(shard, this.#model.epoch);
    await epochCache.refresh(shard);
    const { ref } = this.#rid({ of: 'known', nth: 0 });
    const late = { ...ref, epoch: before, chargeTokens: 1, payload: '{}', reEmit: true };
    return [await store.settle(late), this.#model.settle({ ...late, startedMs: this.#model.now })];
  }

  #arrive({ rid, seq, delta, payload, subscription }: ReferenceModel['outbox'][number]): void {
    const known = this.#arrived.get(`${rid}:${seq}`);
    if (known)
      assert.equal(known.delta, delta, 'I2: an event has one delta however often it comes');
    this.#arrived.set(`${rid}:${seq}`, { delta, subscription });
    if (!payload.startsWith('{"final"'))
      assert.ok(usagePayloadSchema.safeParse(JSON.parse(payload)).success, payload);
  }

  async #checkBalances(subs: SubscriptionRef[]): Promise<void> {
    const found = await this.#tenant.live.getBalances(subs);
    for (const [index, sub] of subs.entries()) {
      const { record, balance, held, running, creditSeq } = this.#model.subscription(sub);
      const open = [...this.#model.holds.values()].filter(
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
        balance,
        held,
        running,
        creditSeq,
      };
      assert.deepEqual(found[index], want);
    }
  }

  async #checkSubscribedModels(): Promise<void> {
    const { redis, shard, accountId, otherAccountId } = this.#tenant;
    for (const account of [accountId, otherAccountId]) {
      const found = (await redis.smembers(keys.subscribedModels(shard, account))).map(Number);
      assert.deepEqual(
        found.toSorted((a, b) => a - b),
        this.#activeModels(account),
      );
    }
  }

  #activeModels(accountId: number): number[] {
    return this.#subs
      .filter(
        (sub) =>
          sub.accountId === accountId && this.#model.subscription(sub).record?.status === 'active',
      )
      .map((sub) => sub.modelId);
  }

  #sub(index: number): ModelSubscriptionRef {
    const sub = element(this.#subs, index);
    this.#touched.push(sub);
    return sub;
  }

  #keyOf(ref: HoldRef): { keyHash: string } {
    return element(
      this.#keys.filter((key) => key.accountId === ref.accountId),
      0,
    );
  }

  /** A request belongs to one subscription, and begins when it is first named. */
  #rid({ of, nth }: Pick): { ref: HoldRef; startedMs: number } {
    const open = this.#requests.filter(
      ({ ref }) => this.#model.holds.get(ref.rid)?.state === 'open',
    );
    const candidates = of === 'open' && open.length > 0 ? open : this.#requests;
    if (of !== 'new' && candidates.length > 0) {
      const known = element(candidates, nth);
      this.#touched.push(known.ref);
      return known;
    }
    const { accountId, modelId } = this.#sub(element([0, 0, 1, 2], nth));
    const request = {
      ref: { rid: this.#tenant.rid(), accountId, modelId },
      startedMs: this.#model.now,
    };
    this.#requests.push(request);
    return request;
  }

  #nextRevision(step: number): number {
    this.#revision += Math.max(0, step);
    return this.#revision + Math.min(0, step) * 3;
  }

  #note(what: string): void {
    this.#seen.set(what, (this.#seen.get(what) ?? 0) + 1);
  }
}

/** Redis names events by its own clock, which the tests do not set. */
function withoutOutboxIds(batch: RelayBatch & { kind: 'leased' }) {
  return { ...batch, entries: batch.entries.map((entry) => ({ ...entry, outboxId: '' })) };
}
