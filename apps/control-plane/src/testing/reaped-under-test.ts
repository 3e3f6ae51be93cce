import { expect } from '@jest/globals';
import { hashCredential, holdSigner, parseApiKey } from '@tollgate/contracts';
import { EpochCache, Epochs, FunctionLibrary, MeteringStore } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { uuidv7 } from '../platform/http/visitor.ts';
import { FLEET_CREDENTIAL, type ControlPlane } from './control-plane-under-test.ts';
import { UsageWorker } from '../features/usage/ingest/usage-worker.ts';
import type { EventParts } from './ledger-under-test.ts';

/** Opens Redis as a node of this installation uses it. */
export function nodesStoreOf(plane: ControlPlane): MeteringStore {
  return new MeteringStore({
    library: plane.app.get(FunctionLibrary),
    epochs: new EpochCache(plane.app.get(Epochs)),
    shards: Number(plane.environment['SHARDS']),
    signHold: holdSigner(hashCredential(FLEET_CREDENTIAL)),
  });
}

/** Makes a request of a node that is gone: its hold was taken, checkpointed once and reaped. Returns its id. */
export async function reapedRequest(
  plane: ControlPlane,
  { account, model }: Pick<EventParts, 'account' | 'model'>,
  usedTokens: number,
): Promise<string> {
  const store = nodesStoreOf(plane);
  const rid = uuidv7(Date.now());
  const { body } = await plane.call('POST', '/keys', { token: account.token, body: { name: rid } });
  const keyHash = parseApiKey(body.key)?.hash ?? '';
  const who = { rid, accountId: account.id, modelId: model.id, keyHash, node: 'node-a:0' };
  await eventually(async () =>
    expect(
      await store.admit({
        ...{ ...who, modelName: model.name, priceVersionId: model.priceId, addressHex: '' },
        ...{ wantTokens: 900, minTokens: 900, concurrencyMax: 0, leaseMs: 60_000 },
      }),
    ).toMatchObject({ kind: 'admitted' }),
  );
  await store.checkpoint({ ...who, usedTokens, extendTokens: 0, leaseMs: 0 });
  await eventually(async () => expect(await store.reap(who)).toMatchObject({ kind: 'reaped' }));
  return rid;
}

/** Takes what stands in the shard's outbox out of it, as a relay does, and answers what books it. */
export async function readFromOutbox(
  plane: ControlPlane,
  shard: string,
): Promise<() => Promise<void>> {
  const store = nodesStoreOf(plane);
  const limits = { leaseMs: 5_000, entriesMax: 50, bytesMax: 100_000, expiredHoldsMax: 0 };
  const reply = await store.relay(shard, { owner: 'relay', relayedIds: [], ...limits });
  if (reply.kind !== 'leased') throw new Error('the shard has another relay');
  const { entries } = reply;
  const relayedIds = entries.map(({ outboxId }) => outboxId);
  await store.releaseRelay(shard, { owner: 'relay', relayedIds });
  return () => plane.app.get(UsageWorker, { strict: false }).process(entries);
}
