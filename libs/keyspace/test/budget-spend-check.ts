import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { readClaims } from '@tollgate/contracts';
import { EpochCache, MeteringStore } from '../src/index.ts';
import { setBudgets } from './budgets-of-tenant.ts';
import { MODEL_ID, openAccount, request, SHARDS, type Tenant, type World } from './world.ts';

const CHARGE = 100;
const AFFORDABLE = 100;
const AMOUNT = AFFORDABLE * CHARGE;
const SAMPLED_EVERY_MS = 10;
const BUDGET = 7;

interface Ended {
  period: number;
  charge: number;
}

/** Runs many callers at once, over several connections, against a budget for a hundred of them. Each holds three times what it is charged, and tries again while others hold what it needs. Once half of the budget is used, its next period begins under them, with requests of both running. */
export async function checkBudgetSpend(worlds: readonly World[], callers: number): Promise<void> {
  const tenant = await (worlds[0] as World).tenant();
  await openAccount(tenant, { tokens: 1_000 * AMOUNT });
  const first = Math.floor(tenant.clock.now / 1_000);
  const next = first + 60;
  await setBudgets(tenant, { ofKey: [{ id: BUDGET, amount: AMOUNT, starts: [first, next] }] });
  const now = (): number => tenant.clock.now;
  const stores = worlds.map(({ library, epochs }) => {
    const parts = { library, epochs: new EpochCache(epochs), shards: SHARDS, now };
    return new MeteringStore(parts);
  });
  const ended: Ended[] = [];
  const samples = new Sampler(tenant);
  const call = async (_: unknown, nth: number): Promise<void> => {
    const store = stores[nth % stores.length] as MeteringStore;
    const one = await complete(store, tenant);
    if (one) ended.push(one);
    if (ended.length === AFFORDABLE / 2) tenant.clock.now = next * 1_000;
  };
  await Promise.all(Array.from({ length: callers }, call));
  await samples.stop();

  for (const period of [first, next]) {
    const charges = ended.filter((one) => one.period === period);
    const used = charges.reduce((sum, { charge }) => sum + charge, 0);
    const counted = await tenant.live.budgets.read(tenant.accountId);
    const found = counted.find((one) => one.period === period);
    assert.deepEqual(found, { budgetId: BUDGET, period, used, held: 0 });
  }
  const inLast = ended.filter(({ period }) => period === next);
  assert.ok(inLast.length >= AFFORDABLE - 3, `${inLast.length} of ${AFFORDABLE} completed`);
  assert.ok(samples.count > 0 && samples.most <= AMOUNT, `${samples.most} were used and held`);
}

/** Returns undefined once the budget is used up. */
async function complete(store: MeteringStore, tenant: Tenant): Promise<Ended | undefined> {
  for (;;) {
    const asked = request(tenant, { wantTokens: 3 * CHARGE, minTokens: CHARGE });
    const reply = await store.admit(asked);
    if (reply.kind === 'budget_exceeded') return undefined;
    if (reply.kind === 'tokens_held') {
      await pause(1);
      continue;
    }
    assert.equal(reply.kind, 'admitted', JSON.stringify(reply));
    await pause(2);
    const { accountId } = tenant;
    const of = { rid: asked.rid, accountId, modelId: MODEL_ID, chargeTokens: CHARGE };
    await store.settle({ ...of, payload: '{}', reEmit: false, claims: reply.claims });
    const [claim] = readClaims(reply.claims);
    return { period: claim?.period ?? 0, charge: CHARGE };
  }
}

/** Reads what is used and held of each period, again and again. */
class Sampler {
  count = 0;
  most = 0;
  readonly #tenant: Tenant;
  readonly #running: Promise<void>;
  #isStopped = false;

  constructor(tenant: Tenant) {
    this.#tenant = tenant;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      for (const { used, held } of await this.#tenant.live.budgets.read(this.#tenant.accountId))
        this.most = Math.max(this.most, used + held);
      this.count += 1;
      await pause(SAMPLED_EVERY_MS);
    }
  }
}
