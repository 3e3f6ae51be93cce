import assert from 'node:assert/strict';
import { addressHex, normaliseAllowlist, ReapedRequests, type RelayBatch } from '../src/index.ts';
import { element } from './element.ts';
import type { Command } from './model-commands.ts';
import { ADDRESSES, ALLOWLISTS, LIMITS, MODEL_NAMES, MODELS } from './model-fixtures.ts';
import { ComparedStores } from './compared-stores.ts';

/** Runs each command on both sides: what Redis answers, and what the model does. */
export abstract class ComparedCommands extends ComparedStores {
  protected async putKey(
    command: Extract<Command, { type: 'putKey' }>,
  ): Promise<[unknown, { kind: string }]> {
    const allowlist = element(ALLOWLISTS, command.allowlist);
    const record = {
      ...element(this.apiKeys, command.key),
      ...element(LIMITS, command.limits),
      ...{
        status: command.status,
        drain: command.drain,
        revision: this.nextRevision(command.step),
        allowedModels: element(MODELS, command.models),
      },
      expiresAtMs: element(
        [0, this.model.now, this.model.now + 1, this.model.now + 100_000],
        command.expiry,
      ),
    };
    const text = allowlist.map(({ address, bits }) => `${address}/${bits}`).join(', ');
    return [
      await this.tenant.live.putKey({ ...record, allowlist: normaliseAllowlist(text) }),
      this.model.putKey({ ...record, allowlist }),
    ];
  }

  protected async putSubscription(
    command: Extract<Command, { type: 'putSubscription' }>,
  ): Promise<[unknown, { kind: string }]> {
    const { accountId, modelId, subscriptionId: id } = this.sub(command.sub);
    const generation = Math.max(
      1,
      (this.model.subscription({ accountId, modelId }).record?.generation ?? 1) +
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
        revision: this.nextRevision(command.step),
        withdrawalId: null,
        autoRecharge: command.autoRecharge,
      },
      opening: { balance: command.opening, creditSeq: command.opening === 0 ? 0 : 5 },
    };
    return [await this.tenant.live.putSubscription(record), this.model.putSubscription(record)];
  }

  protected async admit(
    command: Extract<Command, { type: 'admit' }>,
  ): Promise<[unknown, { kind: string }]> {
    const { ref } = this.rid(command.rid);
    const address = element(ADDRESSES, command.address);
    const own = this.apiKeys.filter((key) => key.accountId === ref.accountId);
    const foreign = this.apiKeys.filter((key) => key.accountId !== ref.accountId);
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
    const want = this.model.admit(request, address);
    if (want.kind === 'admitted')
      assert.ok(want.availableTokens >= 0, 'I5: no admission leaves balance - held below zero');
    return [await this.tenant.store.admit(request), want];
  }

  protected async access(
    command: Extract<Command, { type: 'access' }>,
  ): Promise<[unknown, { kind: string }]> {
    const { accountId, keyHash, id } = element(this.apiKeys, command.key);
    const address = element(ADDRESSES, command.address);
    const reply = await this.tenant.store.access({
      accountId,
      keyHash,
      addressHex: addressHex(address),
    });
    const denied = this.model.callerDenied({ accountId, keyHash, address });
    const sorted =
      reply.kind === 'allowed'
        ? { ...reply, subscribedModelIds: reply.subscribedModelIds.toSorted((a, b) => a - b) }
        : reply;
    const allowed = {
      kind: 'allowed',
      keyId: id,
      allowedModels: this.model.keys.get(keyHash)?.allowedModels,
      subscribedModelIds: this.activeModels(accountId),
    };
    return [sorted, denied ?? allowed];
  }

  protected async settle(
    command: Extract<Command, { type: 'settle' }>,
  ): Promise<[unknown, { kind: string }]> {
    const { ref, startedMs } = this.rid(command.rid);
    const chargeTokens = Math.round(
      (this.model.holds.get(ref.rid)?.amount ?? 120) * command.factor,
    );
    const request = {
      ...ref,
      chargeTokens,
      payload: JSON.stringify({ final: ref.rid, charge: chargeTokens }),
      reEmit: command.reEmit,
    };
    const want = this.model.settle({ ...request, startedMs });
    if (want.kind === 'settled') {
      assert.ok(!this.settled.has(ref.rid), 'I6: a request is done once');
      this.settled.set(ref.rid, chargeTokens);
    }
    return [await this.tenant.store.settle(request), want];
  }

  protected async relay(
    command: Extract<Command, { type: 'relay' }>,
  ): Promise<[unknown, { kind: string }]> {
    const { store, shard } = this.tenant;
    const { type: _type, ...bounds } = command;
    const request = { ...bounds, owner: 'model', leaseMs: 600_000 };
    const reply = await store.relay(shard, { ...request, relayedIds: this.relayedIds });
    assert.equal(reply.kind, 'leased');
    const want = this.model.relay({ ...request, relayedIds: this.modelRelayedIds });
    assert.equal(want?.kind, 'leased');
    this.relayedIds = reply.entries.map((entry) => entry.outboxId);
    this.modelRelayedIds = want.entries.map((entry) => entry.outboxId);
    for (const event of this.model.outbox)
      if (this.modelRelayedIds.includes(event.outboxId)) this.arrive(event);
    return [withoutOutboxIds(reply), withoutOutboxIds(want)];
  }

  protected async repeatWithdrawal(
    command: Extract<Command, { type: 'repeatWithdrawal' }>,
  ): Promise<[unknown, { kind: string }]> {
    const sub = this.sub(command.sub);
    const known = this.model.subscription(sub).withdrawalId;
    const request = {
      ...sub,
      subscriptionId: sub.subscriptionId + (command.how === 'other id' ? 100 : 0),
      withdrawalId: command.how === 'known' && known ? known : this.tenant.rid(),
      tokens: command.tokens,
    };
    return [await this.lost.repeatWithdrawal(request), this.model.repeatWithdrawal(request)];
  }

  protected async repeatRelease(
    command: Extract<Command, { type: 'repeatRelease' }>,
  ): Promise<[unknown, { kind: string }]> {
    const { ref } = this.rid(command.rid);
    const { subscriptionId } = element(
      this.subs.filter((sub) => sub.accountId === ref.accountId && sub.modelId === ref.modelId),
      0,
    );
    const request = {
      ...ref,
      subscriptionId: subscriptionId + (command.isOfAnother ? 100 : 0),
      withdrawalId: this.model.subscription(ref).withdrawalId ?? this.tenant.rid(),
      tokens: command.tokens,
      releasedAtMs: this.model.now - command.ageMs,
    };
    const want = this.model.repeatRelease(request);
    if (want.kind === 'repeated') this.repeatedReleases.add(`${ref.rid}:2`);
    return [await this.lost.repeatRelease(request), want];
  }

  protected async repeatReap(
    command: Extract<Command, { type: 'repeatReap' }>,
  ): Promise<[unknown, { kind: string }]> {
    const { ref } = this.rid(command.rid);
    const { shard, epochCache: epochs } = this.tenant;
    const reaped = new ReapedRequests({ ...this.tenant, epochs });
    const byRid = (a: { rid: string }, b: { rid: string }): number => (a.rid < b.rid ? -1 : 1);
    const all = await reaped.unbooked(shard);
    assert.deepEqual(all.toSorted(byRid), this.model.unbookedReaps().toSorted(byRid));
    return [await reaped.repeat(shard, ref.rid), this.model.repeatReap(ref)];
  }

  /** While there is no epoch, and of requests from before, nothing is taken. */
  protected async fence(): Promise<[unknown, { kind: string }]> {
    const { epochs, epochCache, shard, store } = this.tenant;
    const before = this.model.epoch ?? '';
    await epochs.clear(shard);
    this.model.epoch = null;
    const credit = { ...this.sub(0), seq: 1, deltaTokens: 1 };
    assert.deepEqual(await store.credit(credit), this.model.credit(credit));
    this.epochs += 1;
    this.model.epoch = `e${this.epochs}`;
    await epochs.set(shard, this.model.epoch);
    await epochCache.refresh(shard);
    const { ref } = this.rid({ of: 'known', nth: 0 });
    const late = { ...ref, epoch: before, chargeTokens: 1, payload: '{}', reEmit: true };
    return [await store.settle(late), this.model.settle({ ...late, startedMs: this.model.now })];
  }
}

/** Redis names events by its own clock, which the tests do not set. */
function withoutOutboxIds(batch: RelayBatch & { kind: 'leased' }) {
  return { ...batch, entries: batch.entries.map((entry) => ({ ...entry, outboxId: '' })) };
}
