import { beforeAll, expect, test } from '@jest/globals';
import { parseApiKey, type RelayedEvent } from '@tollgate/contracts';
import { MeteringStore, shardOf } from '@tollgate/keyspace';
import fc from 'fast-check';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { ledger, plane, shareLedgerPlane, worker } from '../../testing/ledger-plane-under-test.ts';
import { usageEvent, type TestAccount } from '../../testing/ledger-under-test.ts';

let store: MeteringStore;

shareLedgerPlane();
beforeAll(async () => {
  store = plane.app.get(MeteringStore);
});

interface OpenHold {
  rid: string;
  priceId: number;
  subscriptionId: number;
}

/** Moves one account and model by calls of the product alone: the API, the node's Redis functions, the relay and the worker. */
class World {
  account!: TestAccount;
  model!: { id: number; name: string; priceId: number };
  keyHash!: string;
  holds: OpenHold[] = [];
  relayed: RelayedEvent[] = [];

  async start(): Promise<this> {
    [this.account, this.model] = [await ledger.account('1000'), await ledger.model('7')];
    const { key } = (
      await plane.call('POST', '/keys', { token: this.account.token, body: { name: 'property' } })
    ).body;
    this.keyHash = parseApiKey(key)?.hash ?? '';
    return this;
  }

  post(path: string, body: object) {
    return plane.call('POST', path, {
      token: this.account.token,
      body: { model_id: this.model.id, ...body },
    });
  }

  async admit(want: number): Promise<void> {
    const rid = uuidv7(Date.now());
    const reply = await store.admit({
      rid,
      accountId: this.account.id,
      keyHash: this.keyHash,
      modelId: this.model.id,
      modelName: this.model.name,
      priceVersionId: this.model.priceId,
      wantTokens: want,
      minTokens: 1,
      addressHex: '',
      concurrencyMax: 0,
      leaseMs: 60_000,
      node: 'node-a:0',
    });
    if (reply.kind === 'admitted')
      this.holds.push({ rid, priceId: this.model.priceId, subscriptionId: reply.subscriptionId });
    else
      expect([
        'not_subscribed',
        'subscription_closing',
        'balance_too_low',
        'tokens_held',
      ]).toContain(reply.kind);
  }

  async settle(charge: number): Promise<void> {
    const hold = this.holds.shift();
    if (!hold) return;
    const { payload } = usageEvent(charge, {
      account: this.account,
      model: { ...this.model, priceId: hold.priceId },
      subscriptionId: hold.subscriptionId,
      rid: hold.rid,
    });
    const reply = await store.settle({
      rid: hold.rid,
      accountId: this.account.id,
      modelId: this.model.id,
      chargeTokens: charge,
      payload,
      reEmit: false,
    });
    expect(reply.kind).toBe('settled');
  }

  /** Reads the outbox as a relay does; the events then wait here, to be ingested in any order. */
  async relay(): Promise<void> {
    const shard = shardOf(this.account.id, Number(plane.environment['SHARDS']));
    for (let relayedIds: string[] = []; ;) {
      const reply = await store.relay(shard, {
        owner: 'spec',
        leaseMs: 60_000,
        relayedIds,
        entriesMax: 500,
        bytesMax: 10_000_000,
        expiredHoldsMax: 0,
      });
      if (reply.kind !== 'leased' || reply.entries.length === 0) return;
      this.relayed.push(...reply.entries);
      relayedIds = reply.entries.map((entry) => entry.outboxId);
    }
  }

  /** Ingests `count` waiting events from `from` on, and says one of them twice. */
  async ingest(from: number, count: number): Promise<void> {
    const start = this.relayed.length === 0 ? 0 : from % this.relayed.length;
    const batch = this.relayed.splice(start, count);
    await worker.process([...batch, ...batch.slice(0, 1)]);
  }

  async finish(): Promise<void> {
    while (this.holds.length > 0) await this.settle(1);
    await this.relay();
    await Promise.all([worker.process(this.relayed), worker.process(this.relayed.toReversed())]);
  }
}

const tokens = fc.integer({ min: 0, max: 3_000 });
type Step = (world: World) => Promise<unknown>;
const step: fc.Arbitrary<{ name: string; run: Step }> = fc.oneof(
  tokens.map((amount) => ({
    name: `subscribe ${amount}`,
    run: (world: World) => world.post('/models/subscribe', { tokens: amount }),
  })),
  tokens.map((amount) => ({
    name: `renew ${amount}`,
    run: (world: World) => world.post('/models/renew', { tokens: amount }),
  })),
  fc.constant({
    name: 'unsubscribe',
    run: (world: World) => world.post('/models/unsubscribe', {}),
  }),
  fc.integer({ min: 0, max: 9_000_000 }).map((price) => ({
    name: `price ${price}`,
    run: (world: World) =>
      ledger.asAdmin('POST', '/models/pricing', {
        model_id: world.model.id,
        price_per_million: String(price),
      }),
  })),
  fc
    .integer({ min: 1, max: 2_000 })
    .map((want) => ({ name: `admit ${want}`, run: (world: World) => world.admit(want) })),
  fc
    .integer({ min: 0, max: 2_500 })
    .map((charge) => ({ name: `settle ${charge}`, run: (world: World) => world.settle(charge) })),
  fc
    .record({ from: fc.nat({ max: 50 }), count: fc.integer({ min: 1, max: 8 }) })
    .map(({ from, count }) => ({
      name: `ingest ${count} from ${from}`,
      run: async (world: World) => {
        await world.relay();
        await world.ingest(from, count);
      },
    })),
);

test('any sequence of subscriptions, renewals, withdrawals, prices and usage ends in ledgers that balance, in PostgreSQL as in Redis', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
      const world = await new World().start();
      await world.post('/models/subscribe', { tokens: 2_000 });
      for (const { run } of steps) await run(world);
      await world.finish();
      const row = await ledger.subscription(world.account, world.model);
      expect(await ledger.live(world.account, world.model)).toMatchObject({
        balance: Number(row.balance) - Number(row.overdraft),
        held: 0,
        running: 0,
        creditSeq: Number(row.credit_seq),
      });
      // Every account that unsubscribed has been refunded in full.
      if (row.status === 'closed') expect(Number(row.balance)).toBe(0);
      expect(await ledger.violations()).toEqual({});
    }),
    { numRuns: 30 },
  );
}, 120_000);
