import { beforeAll, beforeEach } from '@jest/globals';
import { parseApiKey } from '@tollgate/contracts';
import { MeteringStore, type AdmitReply } from '@tollgate/keyspace';
import { uuidv7 } from '../platform/http/visitor.ts';
import { ledger, plane, worker } from './ledger-plane-under-test.ts';
import { usageEvent, type TestAccount } from './ledger-under-test.ts';

/** Holds the parts of one test: an account with tokens of one model, and a key without budgets. */
export interface Tenant {
  account: TestAccount;
  model: { id: number; name: string; priceId: number };
  key: { id: number; hash: string };
}

export let tenant: Tenant;

/** Opens tenants; the spec that imports the parts calls it after `shareLedgerPlane`. */
export function openTenants(): void {
  let model: Tenant['model'];
  beforeAll(async () => {
    model = await ledger.model('2');
  });
  beforeEach(async () => {
    const account = await ledger.account('10');
    tenant = { account, model, key: { id: 0, hash: '' } };
    await as('POST', '/models/subscribe', { model_id: model.id, tokens: 100_000 });
    const { body } = await as('POST', '/keys', { name: 'budgeted' });
    tenant.key = { id: body.id, hash: parseApiKey(body.key ?? '')?.hash ?? '' };
  });
}

export const as = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) =>
  plane.call(method, path, {
    token: tenant.account.token,
    ...(body === undefined ? {} : { body }),
  });
export const monthly = {
  unit: 'charged_tokens',
  amount: 1_000,
  period: 'month',
  time_zone: 'Asia/Tokyo',
};
export const set = (fields: object = {}) =>
  as('POST', '/budgets', { scope: { key_id: tenant.key.id }, ...monthly, ...fields });
export const ofAccount = (fields: object = {}) =>
  set({ scope: { user_id: tenant.account.id }, ...fields });
export const admit = (changes: object = {}): Promise<AdmitReply> =>
  plane.app.get(MeteringStore).admit({
    ...{ rid: uuidv7(Date.now()), accountId: tenant.account.id, keyHash: tenant.key.hash },
    ...{
      modelId: tenant.model.id,
      modelName: tenant.model.name,
      priceVersionId: tenant.model.priceId,
    },
    ...{ pricePerMillion: 2_000_000, wantTokens: 600, minTokens: 10, addressHex: '' },
    ...{ concurrencyMax: 0, leaseMs: 60_000, node: 'node-a:0', ...changes },
  });
export const usageOf = async (id: number) =>
  (await as('GET', `/budgets/usage?ids=${id}`)).body.data[0] ?? null;
export const periodOf = async (id: number): Promise<number> => {
  const [row] = await ledger.query('SELECT starts FROM budgets WHERE id = $1', [id]);
  return Number(row.starts.findLast((start: string) => Number(start) <= Date.now() / 1_000));
};
export const parts = async () => ({
  ...{ account: tenant.account, model: tenant.model, keyId: tenant.key.id },
  subscriptionId: (await ledger.subscription(tenant.account, tenant.model)).id,
});
export const book = async (charge: number, budgets: string) =>
  worker.process([usageEvent(charge, { ...(await parts()), final: { budgets } })]);
