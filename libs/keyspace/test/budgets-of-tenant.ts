import assert from 'node:assert/strict';
import type { AdmitReply, AdmitRequest } from '../src/index.ts';
import { MODEL_ID, putKey, request, type Tenant } from './world.ts';

export interface Budget {
  id: number;
  unit?: 'charged_tokens' | 'tokens' | 'money' | 'requests';
  amount: number;
  /** Is in Unix seconds. */
  starts?: readonly number[];
  models?: string;
  action?: 'refuse' | 'fallback' | 'notify';
  adjusted?: Record<string, number>;
  each?: 's' | 'u';
  isRequired?: boolean;
  /** Is the length in seconds of a bucket of a rolling budget. */
  bucket?: number;
}

/** Writes budgets in the control plane's form. */
function written(budgets: readonly Budget[]): string {
  const list = budgets.map((one) => [
    one.id,
    one.unit ?? 'charged_tokens',
    one.amount,
    (one.starts ?? [0]).map((start) => String(start).padStart(10, '0')).join(''),
    one.models ?? '',
    one.action ?? 'refuse',
    one.adjusted ?? {},
    one.each ?? '',
    one.isRequired ? 1 : 0,
    one.bucket ?? 0,
  ]);
  return list.length === 0 ? '' : JSON.stringify(list);
}

let revision = 1;

export async function setBudgets(
  tenant: Tenant,
  { ofKey = [], ofAccount = [] }: { ofKey?: Budget[]; ofAccount?: Budget[] },
): Promise<void> {
  revision += 1;
  await putKey(tenant, { revision, budgets: written(ofKey) });
  const { accountId } = tenant;
  const reply = await tenant.live.putAccount({
    ...{ accountId, status: 'active', drain: false, revision },
    budgets: written(ofAccount),
  });
  assert.equal(reply.kind, 'applied');
}

/** Returns `<used>,<held>` by `<budget>:<period>`, of all requests together or of one value. */
export async function counts(tenant: Tenant, value = ''): Promise<Record<string, string>> {
  const found = await tenant.live.budgets.read(tenant.accountId, value);
  return Object.fromEntries(
    found.map(({ budgetId, period, used, held }) => [`${budgetId}:${period}`, `${used},${held}`]),
  );
}

export const ask = (tenant: Tenant, changes: Partial<AdmitRequest> = {}): Promise<AdmitReply> =>
  tenant.store.admit(request(tenant, changes));

export async function settled(
  tenant: Tenant,
  rid: string,
  chargeTokens: number,
  { claims = '', reported = 0 }: { claims?: string; reported?: number } = {},
) {
  const { accountId } = tenant;
  const ratedTokens = { all: reported, uncached: reported };
  const of = { rid, accountId, modelId: MODEL_ID, chargeTokens, claims, ratedTokens };
  return tenant.store.settle({ ...of, payload: '{}', reEmit: false });
}

export const reap = (tenant: Tenant, rid: string) =>
  tenant.store.reap({ rid, accountId: tenant.accountId, modelId: MODEL_ID });

export const checkpoint = (tenant: Tenant, rid: string, usedTokens: number, extendTokens: number) =>
  tenant.store.checkpoint({
    ...{ rid, accountId: tenant.accountId, modelId: MODEL_ID, keyHash: tenant.keyHash },
    ...{ usedTokens, extendTokens, leaseMs: 60_000, node: 'node-1:0' },
  });

export async function extendedBy(tenant: Tenant, rid: string): Promise<number | undefined> {
  const reply = await checkpoint(tenant, rid, 50, 20);
  return reply.kind === 'ok' ? reply.extendedTokens : undefined;
}
