import assert from 'node:assert/strict';
import { EpochCache, MeteringStore } from '../src/index.ts';
import {
  funds,
  drain,
  MODEL_ID,
  openAccount,
  request,
  SHARDS,
  type Tenant,
  type World,
} from './world.ts';

const AFFORDABLE = 10;
const PRICE = 100;

/** Runs many askers, each with a balance for ten, over several connections at once; each admitted request is settled three times at the same time. */
export async function checkDoubleSpend(
  worlds: readonly World[],
  { accounts, asks }: { accounts: number; asks: number },
): Promise<void> {
  const tenants = await Promise.all(
    Array.from({ length: accounts }, () => (worlds[0] as World).tenant()),
  );
  await Promise.all(tenants.map((tenant) => openAccount(tenant, { tokens: AFFORDABLE * PRICE })));
  await Promise.all(tenants.map((tenant) => spend(tenant, worlds, asks)));
}

async function spend(tenant: Tenant, worlds: readonly World[], asks: number): Promise<void> {
  const stores = worlds.map(
    ({ library, epochs }) =>
      new MeteringStore({ library, epochs: new EpochCache(epochs), shards: SHARDS }),
  );
  const storeOf = (nth: number): MeteringStore => stores[nth % stores.length] as MeteringStore;
  const requests = Array.from({ length: asks }, () =>
    request(tenant, { wantTokens: PRICE, minTokens: PRICE }),
  );
  const replies = await Promise.all(requests.map((asked, nth) => storeOf(nth).admit(asked)));
  const admitted = requests.filter((_, nth) => replies[nth]?.kind === 'admitted');
  assert.equal(admitted.length, AFFORDABLE);
  assert.ok(replies.every((reply) => reply.kind === 'admitted' || reply.kind === 'tokens_held'));
  assert.deepEqual(await funds(tenant), {
    balance: AFFORDABLE * PRICE,
    held: AFFORDABLE * PRICE,
    running: AFFORDABLE,
    status: 'active',
  });

  const settlements = admitted.flatMap(({ rid }) =>
    [0, 1, 2].map((nth) =>
      storeOf(nth).settle({
        rid,
        accountId: tenant.accountId,
        modelId: MODEL_ID,
        chargeTokens: PRICE,
        payload: '{}',
        reEmit: false,
      }),
    ),
  );
  const settled = (await Promise.all(settlements)).filter((reply) => reply.kind === 'settled');
  assert.equal(settled.length, AFFORDABLE);
  assert.ok(settled.every((reply) => reply.balance >= 0));
  assert.deepEqual(await funds(tenant), { balance: 0, held: 0, running: 0, status: 'active' });
  assert.equal((await drain(tenant)).length, AFFORDABLE);
}
