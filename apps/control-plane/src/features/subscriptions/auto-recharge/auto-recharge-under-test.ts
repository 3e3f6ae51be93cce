import { afterAll, beforeAll, expect } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { parseApiKey } from '@tollgate/contracts';
import { MeteringStore } from '@tollgate/keyspace';
import { loadConfig } from '../../../config.ts';
import { createApp } from '../../../create-app.ts';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { createPino } from '../../../platform/logging/logger.ts';
import { ledger, plane } from '../../../testing/ledger-plane-under-test.ts';
import { usageEvent } from '../../../testing/ledger-under-test.ts';
import { sharedControlPlane } from '../../../testing/shared-plane-under-test.ts';
import { AutoRechargeService } from './auto-recharge.service.ts';

export { ledger, plane } from '../../../testing/ledger-plane-under-test.ts';

let replica: NestExpressApplication;
export let services: AutoRechargeService[];

export const post = <Path extends string>(path: Path, token: string, body: object) =>
  plane.call('POST', path, { token, body });
export const purchases = async (id: number) =>
  (
    await ledger.query(
      "SELECT count(*)::int AS n FROM token_credits WHERE subscription_id = $1 AND kind = 'auto_recharge'",
      [id],
    )
  )[0].n;

export async function subscribed(
  money: string,
  auto: { threshold: number; amount: number },
  tokens = 1_000,
) {
  const [account, model] = [await ledger.account(money), await ledger.model('1')];
  const body = {
    model_id: model.id,
    tokens,
    auto_recharge_threshold: auto.threshold,
    auto_recharge_amount: auto.amount,
  };
  const { body: subscription } = await post('/models/subscribe', account.token, body);
  return { account, model, id: subscription.id as number };
}

type Subscribed = Awaited<ReturnType<typeof subscribed>>;

/** Uses tokens as a node does: it admits, then settles. */
export async function use(one: Subscribed, tokens: number): Promise<void> {
  const rid = await hold(one, tokens);
  const { account, model, id } = one;
  const { payload } = usageEvent(tokens, { account, model, subscriptionId: id, rid });
  await plane.app.get(MeteringStore).settle({
    rid,
    accountId: account.id,
    modelId: model.id,
    chargeTokens: tokens,
    payload,
    reEmit: false,
  });
}

export async function hold({ account, model }: Subscribed, tokens: number): Promise<string> {
  const { body } = await post('/keys', account.token, { name: 'k' });
  const rid = uuidv7(Date.now());
  const store = plane.app.get(MeteringStore);
  const who = { rid, accountId: account.id, modelId: model.id };
  const request = {
    keyHash: parseApiKey(body.key)?.hash ?? '',
    modelName: model.name,
    priceVersionId: model.priceId,
    wantTokens: tokens,
    minTokens: 1,
    addressHex: '',
    concurrencyMax: 0,
    leaseMs: 60_000,
    node: 'n:0',
  };
  expect((await store.admit({ ...who, ...request })).kind).toBe('admitted');
  return rid;
}

/** The spec that imports the parts calls this: a second replica sees what the shared control plane sees. */
export function shareAutoRecharge(): void {
  beforeAll(async () => {
    const shared = await sharedControlPlane();
    replica = await createApp(loadConfig(shared.environment), createPino('silent'));
    await replica.init();
    services = [shared.app.get(AutoRechargeService), replica.get(AutoRechargeService)];
  }, 60_000);
  afterAll(async () => {
    await replica?.close();
  });
}
