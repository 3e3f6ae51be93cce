import assert from 'node:assert/strict';
import { usageReapSchema } from '@tollgate/contracts';
import { BookedUsage, type RelayedUsage } from './booked-usage.ts';
import { element } from './element.ts';
import {
  drain,
  funds,
  MODEL_ID,
  openAccount,
  putKey,
  putSubscription,
  request,
  SUBSCRIPTION_ID,
  type Tenant,
} from './world.ts';
import type { LossCommand } from './loss-commands.ts';

interface Request {
  rid: string;
  /** Is the copy in the node's journal. */
  epoch: string;
  held: number;
  used: number;
  renewedMs: number;
  charge: number | null;
}

/** Ends before a node's lease: later the hold may have been reaped, and the node leaves it alone. */
const CERTAIN_MS = 45_000;
const LEASE_MS = 60_000;
const TOKENS = 5_000;

/** Runs a sequence, then lets everything come to its end, and holds PostgreSQL and Redis against what was used. */
export async function runLosses(
  tenant: Tenant,
  commands: readonly LossCommand[],
  seen: Map<string, number>,
): Promise<void> {
  const run = new LossRun(tenant, seen);
  await run.open();
  for (const command of commands) await run.step(command);
  await run.finish();
}

class LossRun {
  readonly #tenant: Tenant;
  readonly #seen: Map<string, number>;
  readonly #booked = new BookedUsage();
  readonly #requests: Request[] = [];
  /** Holds what a node has sent that has not reached Redis yet. */
  readonly #onTheWay: (() => Promise<void>)[] = [];
  /** Holds what has left the outbox and is not in PostgreSQL yet. */
  readonly #queued: RelayedUsage[] = [];
  #credits = 1;
  #losses = 1;

  constructor(tenant: Tenant, seen: Map<string, number>) {
    this.#tenant = tenant;
    this.#seen = seen;
  }

  async open(): Promise<void> {
    await openAccount(this.#tenant, { tokens: TOKENS });
    this.#booked.credited = TOKENS;
  }

  async step(command: LossCommand): Promise<void> {
    switch (command.type) {
      case 'advance':
        this.#tenant.clock.now += command.ms;
        return;
      case 'admit':
        return this.#admit();
      case 'lose':
        return this.#lose();
      case 'relay':
        return this.#relay();
      case 'reap':
        return this.#reap();
      case 'checkpoint':
        return this.#checkpoint(this.#running(command.nth), command.used);
      case 'restore':
        return this.#restore(this.#running(command.nth), command.fate);
      case 'arrive':
        await this.#onTheWay.shift()?.();
        return;
      case 'end':
        return this.#end(this.#running(command.nth), command.used);
      case 'settle':
        return this.#settle(this.#ended(command.nth), command.reEmit);
      case 'book':
        return this.#book(command);
    }
  }

  async finish(): Promise<void> {
    for (const request of this.#requests) if (request.charge === null) this.#end(request, 30);
    for (const send of this.#onTheWay.splice(0)) await send();
    for (const request of this.#requests) await this.#settle(request, true);
    this.#tenant.clock.now += LEASE_MS;
    await this.#reap();
    await this.#relay();
    while (this.#queued.length > 0) await this.#book({ nth: 0, isAgain: false });
    await this.#credit();
    for (const { rid, charge } of this.#requests)
      assert.equal(
        this.#booked.chargedFor(rid),
        charge,
        'each request is charged once, whatever was lost',
      );
    const left = await funds(this.#tenant);
    assert.deepEqual(
      [left?.balance, left?.held, left?.running],
      [this.#booked.position, 0, 0],
      'Redis holds what the ledger says',
    );
  }

  async #admit(): Promise<void> {
    const { store, clock } = this.#tenant;
    const asked = request(this.#tenant, { leaseMs: LEASE_MS });
    const reply = await store.admit(asked);
    if (reply.kind !== 'admitted') return;
    this.#requests.push({
      rid: asked.rid,
      epoch: reply.epoch,
      held: reply.grantedTokens,
      used: 0,
      renewedMs: clock.now,
      charge: null,
    });
  }

  /** Runs FLUSHALL, and fills the shard again from PostgreSQL. */
  async #lose(): Promise<void> {
    const { redis, shard, accountId, epochs } = this.#tenant;
    const names = [
      `{${shard}}:outbox`,
      `{${shard}}:holds`,
      `{${shard}}:relay`,
      `{${shard}}:sub:${accountId}:${MODEL_ID}`,
      ...this.#requests.map(({ rid }) => `{${shard}}:hold:${rid}`),
    ];
    await Promise.all(names.map((name) => redis.del(name)));
    this.#losses += 1;
    this.#booked.epoch = `e${this.#losses}`;
    // Credits on their way are part of what the ledger says.
    this.#booked.owed.splice(0);
    await epochs.set(shard, this.#booked.epoch);
    await putKey(this.#tenant);
    await putSubscription(this.#tenant, {
      opening: { balance: this.#booked.position, creditSeq: this.#credits },
    });
  }

  async #checkpoint(asked: Request | undefined, used: number): Promise<void> {
    if (!asked) return;
    const { store, accountId, keyHash, clock } = this.#tenant;
    asked.used = Math.max(asked.used, used);
    const reply = await store.checkpoint({
      rid: asked.rid,
      epoch: asked.epoch,
      accountId,
      modelId: MODEL_ID,
      keyHash,
      node: 'node-1:0',
      usedTokens: asked.used,
      extendTokens: 50,
      leaseMs: LEASE_MS,
    });
    if (reply.kind === 'ok') Object.assign(asked, { renewedMs: clock.now, held: reply.heldTokens });
  }

  /** Writes like the checkpointer: the journal first, then Redis. */
  async #restore(
    asked: Request | undefined,
    fate: 'arrives' | 'is_delayed' | 'is_lost',
  ): Promise<void> {
    const { store, accountId, clock } = this.#tenant;
    if (!asked || clock.now - asked.renewedMs >= CERTAIN_MS) return;
    const epoch = await store.epochOf(accountId);
    assert.ok(epoch !== null);
    asked.epoch = epoch;
    const owner = {
      subscriptionId: SUBSCRIPTION_ID,
      keyId: 5,
      priceVersionId: 2,
      generation: 1,
      node: 'node-1:0',
    };
    const restoring = {
      rid: asked.rid,
      epoch,
      accountId,
      modelId: MODEL_ID,
      ...owner,
      wantTokens: asked.held,
      usedTokens: asked.used,
      leaseMs: LEASE_MS,
    };
    const sentMs = clock.now;
    const arrive = async (): Promise<void> => {
      const { kind } = await store.restore(restoring);
      this.#note(`restore:${kind}`);
      if (kind === 'restored') asked.renewedMs = sentMs;
    };
    if (fate === 'is_delayed') this.#onTheWay.push(arrive);
    if (fate === 'arrives') await arrive();
  }

  #end(asked: Request | undefined, used: number): void {
    if (asked) asked.charge = Math.max(asked.used, used);
  }

  async #settle(asked: Request | undefined, reEmit: boolean): Promise<void> {
    if (asked?.charge == null) return;
    const { rid, epoch, charge } = asked;
    const reply = await this.#tenant.store.settle({
      rid,
      epoch,
      accountId: this.#tenant.accountId,
      modelId: MODEL_ID,
      chargeTokens: charge,
      payload: JSON.stringify({ kind: 'usage', charge }),
      reEmit,
    });
    this.#note(reply.kind === 'settled' ? `settle:${reply.from}` : `settle:${reply.kind}`);
    if (reply.kind === 'fenced') this.#booked.bookFinal({ rid, charge });
  }

  async #reap(): Promise<void> {
    const { store, accountId } = this.#tenant;
    for (const { rid } of this.#requests)
      this.#note(`reap:${(await store.reap({ rid, accountId, modelId: MODEL_ID })).kind}`);
  }

  async #relay(): Promise<void> {
    const { epoch } = this.#booked;
    for (const { rid, seq, delta, payload } of await drain(this.#tenant)) {
      const read = JSON.parse(payload) as { kind: 'usage' | 'reap'; charge?: number };
      if (read.kind === 'reap') usageReapSchema.parse(read);
      this.#queued.push({
        rid,
        seq: Number(seq),
        delta: Number(delta),
        kind: read.kind,
        charge: read.charge ?? 0,
        epoch,
      });
    }
  }

  async #book({ nth: which, isAgain }: { nth: number; isAgain: boolean }): Promise<void> {
    if (this.#queued.length === 0) return;
    const index = which % this.#queued.length;
    this.#booked.bookRelayed(element(this.#queued, index));
    if (!isAgain) this.#queued.splice(index, 1);
    await this.#credit();
  }

  async #credit(): Promise<void> {
    const { store, accountId } = this.#tenant;
    for (const deltaTokens of this.#booked.owed.splice(0)) {
      this.#credits += 1;
      assert.equal(
        (
          await store.credit({
            accountId,
            modelId: MODEL_ID,
            subscriptionId: SUBSCRIPTION_ID,
            seq: this.#credits,
            deltaTokens,
          })
        ).kind,
        'applied',
      );
    }
  }

  #running(which: number): Request | undefined {
    const running = this.#requests.filter(({ charge }) => charge === null);
    return running.length > 0 ? element(running, which) : undefined;
  }

  #ended(which: number): Request | undefined {
    const ended = this.#requests.filter(({ charge }) => charge !== null);
    return ended.length > 0 ? element(ended, which) : undefined;
  }

  #note(what: string): void {
    this.#seen.set(what, (this.#seen.get(what) ?? 0) + 1);
  }
}
