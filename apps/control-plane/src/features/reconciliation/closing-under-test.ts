import { expect } from '@jest/globals';
import { parseApiKey, type RelayedEvent } from '@tollgate/contracts';
import { eventually } from '@tollgate/harness';
import { MeteringStore } from '@tollgate/keyspace';
import { uuidv7 } from '../../platform/http/visitor.ts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { ledgerOf, usageEvent } from '../../testing/ledger-under-test.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';

/** Makes subscriptions that are closed while one of their requests runs. */
export function closingOf(plane: ControlPlane) {
  const ledger = ledgerOf(plane);
  const store = plane.app.get(MeteringStore);

  const customer = async () => ({
    account: await ledger.account('10'),
    model: await ledger.model('1'),
  });

  /** Buys 1,000 tokens for 1,000 micro-units; a running request holds 400 of them when the account unsubscribes. */
  async function closedWhileRunning(
    { usedTokens = 0, leaseMs = 60_000 } = {},
    who?: Awaited<ReturnType<typeof customer>>,
  ) {
    const { account, model } = who ?? (await customer());
    const call = <Path extends string>(path: Path, body: object) =>
      plane.call('POST', path, { token: account.token, body });
    await call('/models/subscribe', { model_id: model.id, tokens: 1_000 });
    const bought = await ledger.wallet(account);
    const { body: key } = await call('/keys', { name: 'a' });
    const rid = uuidv7(Date.now());
    const keyHash = parseApiKey(key.key)?.hash ?? '';
    const asked = {
      ...{ rid, accountId: account.id, keyHash, modelId: model.id },
      ...{ modelName: model.name, priceVersionId: model.priceId, addressHex: '', node: 'node-a:0' },
      ...{ wantTokens: 400, minTokens: 400, concurrencyMax: 10, leaseMs: 60_000 },
    };
    // A shard that an earlier test lost admits requests after the time for restored holds.
    await eventually(async () =>
      expect(await store.admit(asked)).toMatchObject({ kind: 'admitted' }),
    );
    const progress = {
      ...{ rid, accountId: account.id, modelId: model.id, keyHash },
      ...{ node: 'node-a:0', extendTokens: 0 },
    };
    await store.checkpoint({ ...progress, usedTokens, leaseMs });
    await call('/models/unsubscribe', { model_id: model.id });
    expect(await ledger.wallet(account)).toBe(bought + 600n);
    const { id } = await ledger.subscription(account, model);
    return { account, model, rid, subscriptionId: id as number };
  }

  /** The node of this request is gone; its hold is released and refunded, and then its final arrives. */
  async function finalAfterReap(
    parts: Awaited<ReturnType<typeof closedWhileRunning>>,
    chargeTokens: number,
    beforeFinal = (): Promise<unknown> => Promise.resolve(),
  ): Promise<void> {
    const { account, model, rid } = parts;
    const who = { rid, accountId: account.id, modelId: model.id };
    await eventually(async () => expect(await store.reap(who)).toMatchObject({ kind: 'reaped' }));
    await book(account.id);
    await beforeFinal();
    const { payload } = usageEvent(chargeTokens, { ...parts, rid });
    await store.settle({ ...who, chargeTokens, payload, reEmit: false });
    await book(account.id);
  }

  /** Books everything in the outbox of the account's shard. */
  async function book(accountId: number): Promise<void> {
    const events = await relayed(accountId);
    await plane.app.get(UsageWorker).process(events);
    const relayedIds = events.map(({ outboxId }) => outboxId);
    await store.releaseRelay(store.shardOf(accountId), { owner: 'spec', relayedIds });
  }

  /** Reads the outbox of the account's shard as a relay does. */
  async function relayed(accountId: number): Promise<RelayedEvent[]> {
    const reply = await store.relay(store.shardOf(accountId), {
      ...{ owner: 'spec', leaseMs: 60_000, relayedIds: [] },
      ...{ entriesMax: 500, bytesMax: 10_000_000, expiredHoldsMax: 0 },
    });
    return reply.kind === 'leased' ? reply.entries : [];
  }

  return { customer, closedWhileRunning, finalAfterReap, relayed };
}
