import { hashCredential, parseApiKey } from '@tollgate/contracts';
import { Epochs, shardOf } from '@tollgate/keyspace';
import { pinToFirst, startHelper, type Helper } from './bench-process.ts';
import type { FloorOrder, Payer } from './floor-order.ts';
import { functionTemplates } from './function-template.ts';
import { MODELS, type BenchInstallation } from './installation.ts';
import { withDatabase } from './scenes/database.ts';
import { subscriptionsOf, type Subscription } from './scenes/queue.ts';

/** No node of this name is registered, so what it signs with the fleet's credential is believed. */
const NODE = 'bench-floor:0';
/** A node holds about as much for a request of the load: its output limit and some input. */
const WANT_TOKENS = 300;

/** Starts the floor proxy on the books of an installation, whose node relays what it settles. */
export async function startFloor(installation: BenchInstallation, origin: string): Promise<Helper> {
  const { tollgate, keys } = installation;
  const subscriptions = await withDatabase(installation, subscriptionsOf);
  const payers: Record<string, Payer> = {};
  for (const key of keys) {
    const { accountId = 0, hash = '' } = parseApiKey(key) ?? {};
    const subscription = subscriptions.find(({ user_id }) => user_id === accountId);
    if (!subscription) throw new Error(`account ${accountId} has no subscription`);
    payers[`Bearer ${key}`] = await payerOf(installation, { keyHash: hash, subscription });
  }
  const order: FloorOrder = {
    origin,
    redisUrl: tollgate.redisUrl,
    credentialHash: hashCredential(tollgate.secrets.fleet),
    node: NODE,
    payers,
  };
  const floor = await startHelper('floor-proxy.ts', [JSON.stringify(order)]);
  pinToFirst(floor.pid);
  return floor;
}

async function payerOf(
  { redis, tollgate: { shards } }: BenchInstallation,
  { keyHash, subscription }: { keyHash: string; subscription: Subscription },
): Promise<Payer> {
  const { user_id: accountId, model_id: modelId } = subscription;
  const payer = {
    accountId,
    keyHash,
    modelId,
    priceVersionId: subscription.price_version_id,
    wantTokens: WANT_TOKENS,
  };
  const call = { ...payer, modelName: MODELS[0] ?? '', node: NODE, shards };
  return {
    ...payer,
    keyId: subscription.key_id,
    subscriptionId: subscription.id,
    epoch: (await new Epochs(redis).read(shardOf(accountId, shards))) ?? '',
    ...(await functionTemplates(redis, call)),
  };
}
