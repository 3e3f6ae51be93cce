import assert from 'node:assert/strict';
import type {
  AdmitRequest,
  HoldRef,
  RestoreReply,
  RestoreRequest,
  SettleReply,
} from '../src/index.ts';
import {
  admitted,
  contents,
  KEY_ID,
  MODEL_ID,
  request,
  SUBSCRIPTION_ID,
  type Tenant,
} from './world.ts';

/** Returns a reference to a request of a tenant's first subscription. */
export function refOf(tenant: Tenant, rid: string): HoldRef {
  return { rid, accountId: tenant.accountId, modelId: MODEL_ID };
}

export function settle(
  tenant: Tenant,
  rid: string,
  chargeTokens: number,
  { reEmit = false } = {},
): Promise<SettleReply> {
  return tenant.store.settle({
    ...refOf(tenant, rid),
    chargeTokens,
    payload: `final ${chargeTokens}`,
    reEmit,
  });
}

export function checkpoint(
  tenant: Tenant,
  rid: string,
  changes: { usedTokens?: number; extendTokens?: number; node?: string },
): ReturnType<Tenant['store']['checkpoint']> {
  return tenant.store.checkpoint({
    ...refOf(tenant, rid),
    keyHash: tenant.keyHash,
    node: 'node-1:3',
    usedTokens: 0,
    extendTokens: 0,
    leaseMs: 60_000,
    ...changes,
  });
}

/** Restores the hold of a request that was admitted in the first generation, as its node asks for it after a loss. */
export function restore(
  tenant: Tenant,
  rid: string,
  changes: Partial<RestoreRequest> = {},
): Promise<RestoreReply> {
  const { accountId, store } = tenant;
  return store.restore({
    ...{
      rid,
      epoch: 'e1',
      accountId,
      modelId: MODEL_ID,
      subscriptionId: SUBSCRIPTION_ID,
      keyId: KEY_ID,
      priceVersionId: 77,
      generation: 1,
      node: 'node-1:3',
    },
    ...{ wantTokens: 100, usedTokens: 0, leaseMs: 60_000 },
    ...changes,
  });
}

export function withdraw(
  tenant: Tenant,
  withdrawalId: string,
  creditSeq = 0,
): ReturnType<Tenant['store']['withdraw']> {
  return tenant.store.withdraw({
    accountId: tenant.accountId,
    modelId: MODEL_ID,
    subscriptionId: SUBSCRIPTION_ID,
    withdrawalId,
    drain: false,
    creditSeq,
  });
}

/** Reaps a request of 100 held tokens whose node vanished at a checkpoint of `usedTokens`. */
export async function reapedAt(
  tenant: Tenant,
  usedTokens: number,
  changes: { wantTokens?: number; minTokens?: number } = {},
): Promise<string> {
  const rid = await admitted(tenant, changes);
  await checkpoint(tenant, rid, { usedTokens });
  tenant.clock.now += 60_000;
  assert.equal((await tenant.store.reap(refOf(tenant, rid))).kind, 'reaped');
  return rid;
}

/** Refused for this reason, and nothing in the shard has changed. */
export async function refuses(
  tenant: Tenant,
  changes: Partial<AdmitRequest>,
  kind: string,
): Promise<void> {
  const before = await contents(tenant);
  const reply = await tenant.store.admit(request(tenant, changes));
  assert.equal(reply.kind, kind);
  assert.deepEqual(await contents(tenant), before, `${kind} changes nothing`);
}
