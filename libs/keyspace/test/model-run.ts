import assert from 'node:assert/strict';
import { readHold } from '@tollgate/harness';
import { keys } from '../src/keys.ts';
import { element } from './element.ts';
import type { Command, Sequence } from './model-commands.ts';
import type { Tenant } from './world.ts';
import type { Seen } from './compared-stores.ts';
import { ComparedCommands } from './compared-commands.ts';

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

class ModelRun extends ComparedCommands {
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
    this.touched = [];
    const [got, want] = await this.execute(command);
    assert.deepEqual(got, want, JSON.stringify(command));
    if (want) this.note(`${command.type}:${want.kind}`);
    if (this.touched.length > 0) await this.checkBalances(this.touched);
  }

  /** Empties the outbox, then holds everything Redis has against the model. */
  async finish(): Promise<void> {
    for (let polls = 0; polls < 20 && this.model.outbox.length > 0; polls += 1)
      await this.step({ type: 'relay', entriesMax: 50, bytesMax: 100_000, expiredHoldsMax: 100 });
    await this.step({ type: 'relay', entriesMax: 50, bytesMax: 100_000, expiredHoldsMax: 100 });
    const { redis, shard } = this.tenant;
    const open = [...this.model.holds.values()].filter((hold) => hold.state === 'open');
    const leases = await redis.zrange(keys.holds(shard), '0', '-1', 'WITHSCORES');
    const wanted = open
      .toSorted((a, b) => a.deadline - b.deadline || (a.rid < b.rid ? -1 : 1))
      .flatMap((hold) => [hold.rid, String(hold.deadline)]);
    assert.deepEqual(leases, wanted, 'I4: the lease index holds exactly the open holds');
    for (const hold of this.model.holds.values()) {
      assert.equal((await readHold(redis, keys.hold(shard, hold.rid)))?.['st'], hold.state);
      const charged = [0, 1].reduce(
        (sum, seq) => sum + (this.arrived.get(`${hold.rid}:${seq}`)?.delta ?? 0),
        0,
      );
      if (hold.state !== 'open')
        assert.equal(charged, hold.charged, 'I7: the deltas of a request sum to its final');
    }
    for (const [name, sub] of this.model.subscriptions) {
      const left = [...this.arrived]
        .filter(([key, event]) => event.subscription === sub && !this.repeatedReleases.has(key))
        .reduce((sum, [, event]) => sum + event.delta, 0);
      assert.equal(sub.balance, sub.credited - left, `I3: ${name}`);
    }
    await this.checkBalances(this.subs);
    await this.checkSubscribedModels();
  }

  protected async execute(command: Command): Promise<[unknown, { kind: string } | undefined]> {
    const { clock, store } = this.tenant;
    const model = this.model;
    switch (command.type) {
      case 'advance':
        clock.now += command.ms;
        model.now = clock.now;
        return [undefined, undefined];
      case 'putKey':
        return this.putKey(command);
      case 'putAccount': {
        const account = {
          accountId: element(this.subs, command.account * 2).accountId,
          status: command.status,
          drain: command.drain,
          revision: this.nextRevision(command.step),
        };
        return [await this.tenant.live.putAccount(account), model.putAccount(account)];
      }
      case 'putSubscription':
        return this.putSubscription(command);
      case 'credit': {
        const sub = this.sub(command.sub);
        const last = model.subscription(sub).creditSeq ?? 0;
        const seq = Math.max(1, last + { next: 1, again: 0, gap: 2 }[command.how]);
        return [
          await store.credit({ ...sub, seq, deltaTokens: command.delta }),
          model.credit({ ...sub, seq, deltaTokens: command.delta }),
        ];
      }
      case 'admit':
        return this.admit(command);
      case 'access':
        return this.access(command);
      case 'checkpoint': {
        const { ref } = this.rid(command.rid);
        const request = {
          ...ref,
          keyHash: this.keyOf(ref).keyHash,
          // A journal may move to another node.
          node: `node-${command.used % 3}:0`,
          usedTokens: command.used,
          extendTokens: command.extend,
          leaseMs: command.leaseMs,
        };
        return [await store.checkpoint(request), model.checkpoint(request)];
      }
      case 'restore': {
        const { ref } = this.rid(command.rid);
        const { subscriptionId } = element(
          this.subs.filter((sub) => sub.accountId === ref.accountId && sub.modelId === ref.modelId),
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
        return this.settle(command);
      case 'reap': {
        const { ref } = this.rid(command.rid);
        return [await store.reap(ref), model.reap(ref)];
      }
      case 'withdraw': {
        const sub = this.sub(command.sub);
        const known = model.subscription(sub).withdrawalId;
        const withdrawalId = command.how === 'again' && known ? known : this.tenant.rid();
        const request = {
          ...sub,
          subscriptionId: sub.subscriptionId + (command.how === 'other id' ? 100 : 0),
          withdrawalId,
          drain: command.drain,
          creditSeq: (model.subscription(sub).creditSeq ?? 0) + (command.how === 'behind' ? 1 : 0),
        };
        return [await store.withdraw(request), model.withdraw(request)];
      }
      case 'repeatWithdrawal':
        return this.repeatWithdrawal(command);
      case 'repeatRelease':
        return this.repeatRelease(command);
      case 'repeatReap':
        return this.repeatReap(command);
      case 'fence':
        return this.fence();
      case 'relay':
        return this.relay(command);
    }
  }
}
