import { randomBytes } from 'node:crypto';
import {
  createCustomer,
  createRoutedModel,
  startTollgate,
  subscribeWithKey,
  type AdminClient,
  type Customer,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';
import { z } from 'zod';

const PASSWORD = 'a long enough secret';
const withId = z.looseObject({ id: z.number() });

/** Is one running installation with a customer who has used it, and makers of things for one call alone. */
export interface World {
  tollgate: Tollgate;
  admin: AdminClient;
  customer: Customer;
  /** Is subscribed by the customer. */
  model: RoutedModel;
  /** Is `x-request-id` of a request the customer was charged for. */
  rid: string;
  userToken: string;
  password: string;
  unique: (word: string) => string;
  /** Makes a registered user, who is active unless stated otherwise. */
  newUser: (state?: 'pending' | 'active' | 'frozen') => Promise<{ id: number; username: string }>;
  newModel: () => Promise<number>;
  newUpstream: () => Promise<number>;
  newRoute: () => Promise<{ id: number; modelId: number }>;
  newKey: () => Promise<number>;
  newNode: () => Promise<number>;
  /** Returns the id of a running node. */
  nodeId: (name: string) => Promise<number>;
  /** Makes a user with money who holds 1000 tokens of a new model. */
  newSubscription: () => Promise<{ userId: number; modelId: number }>;
}

export async function startWorld(): Promise<World> {
  const tollgate = await startTollgate({ nodes: 2 });
  const { admin } = tollgate;
  const customer = await createCustomer(tollgate);
  const model = await createRoutedModel(tollgate);
  const key = await subscribeWithKey(customer, { modelIds: [model.id], tokens: 100_000 });
  await admin.syncAll();
  const made = async (path: string, body: unknown): Promise<number> =>
    withId.parse(await admin.call('POST', path, body)).id;
  const unique = (word: string): string => `${word}-${randomBytes(5).toString('hex')}`;
  const newUser: World['newUser'] = async (state = 'active') => {
    const username = unique('user');
    const id = await admin.register(username, PASSWORD);
    if (state !== 'pending') await admin.approve(id);
    if (state === 'frozen') await admin.call('POST', `/users/${id}/freeze`);
    return { id, username };
  };
  const newModel = async (): Promise<number> => {
    const id = await admin.createModel({
      name: unique('model'),
      price: { price_per_million: '1' },
      is_on_shelf: true,
    });
    return id;
  };
  const newUpstream = (): Promise<number> =>
    made('/upstreams', {
      name: unique('upstream'),
      protocol: 'openai',
      base_url: `${tollgate.upstreamUrl}/v1`,
      api_key: 'secret',
    });
  return {
    tollgate,
    admin,
    customer,
    model,
    unique,
    newUser,
    newModel,
    newUpstream,
    rid: await callOnce(tollgate, { key, model: model.name }),
    userToken: customer.client.token ?? '',
    password: PASSWORD,
    newRoute: async () => {
      const modelId = await newModel();
      return {
        modelId,
        id: await made('/routing', { model_id: modelId, upstream_id: await newUpstream() }),
      };
    },
    newKey: () => made('/keys', { name: unique('key') }),
    nodeId: async (name) => withId.parse((await admin.list(`/proxy-nodes?q=${name}`))[0]).id,
    newNode: () => made('/proxy-nodes', { name: unique('node') }),
    newSubscription: async () => {
      const [{ id: userId }, modelId] = [await newUser(), await newModel()];
      await admin.adminRecharge({ userId, amount: '5', note: 'test' });
      await admin.call('POST', '/models/subscribe', {
        user_id: userId,
        model_id: modelId,
        tokens: 1000,
      });
      return { userId, modelId };
    },
  };
}

async function callOnce(
  { nodeUrls }: Tollgate,
  { key, model }: { key: string; model: string },
): Promise<string> {
  const response = await fetch(`${nodeUrls[0]}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
  });
  await response.text();
  return response.headers.get('x-request-id') ?? '';
}
