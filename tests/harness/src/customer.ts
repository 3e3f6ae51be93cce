import { randomBytes } from 'node:crypto';
import {
  AdminClient,
  type NewKey,
  type NewModel,
  type NewPrice,
  type NewRoute,
  type NewUpstream,
} from '@tollgate/tools';
import type { Tollgate } from './tollgate.ts';

const PASSWORD_BYTES = 12;

export interface Customer {
  id: number;
  username: string;
  password: string;
  /** Calls the administration interface as this user. */
  client: AdminClient;
}

/** Makes a registered and approved user with money in the wallet. */
export async function createCustomer(
  { admin }: Tollgate,
  { username = `user-${unique()}`, amount = '1000' }: { username?: string; amount?: string } = {},
): Promise<Customer> {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const anonymous = new AdminClient(admin.baseUrl);
  const id = await anonymous.register(username, password);
  await admin.approve(id);
  if (Number(amount) > 0) await admin.adminRecharge({ userId: id, amount, note: 'test' });
  return { id, username, password, client: await anonymous.login(username, password) };
}

export interface RoutedModel {
  id: number;
  name: string;
}

export interface RoutedModelOptions extends Partial<NewModel>, Partial<Omit<NewPrice, 'model_id'>> {
  /** Makes one route to the demo upstream for each; the default is both (embedding models: openai). */
  protocols?: readonly NewUpstream['protocol'][];
  /** Is the name at the demo upstream, which chooses its behaviour by it. */
  upstreamModel?: string;
  route?: Partial<NewRoute>;
  /** Changes the settings of each upstream. */
  upstream?: Partial<NewUpstream>;
}

/** Makes a priced model with routes to the demo upstream. The caller publishes it with `admin.syncAll()`. */
export async function createRoutedModel(
  tollgate: Tollgate,
  {
    protocols,
    upstreamModel = 'demo-ok',
    route,
    upstream = {},
    price_per_million = '1',
    weight_input,
    weight_output,
    weight_cache_read,
    weight_cache_write,
    weight_cache_write_1h,
    weight_audio_input,
    weight_audio_output,
    multipliers,
    tiers,
    ...model
  }: RoutedModelOptions = {},
): Promise<RoutedModel> {
  const { admin } = tollgate;
  const name = model.name ?? `model-${unique()}`;
  const weights = Object.fromEntries(
    Object.entries({
      ...{ weight_input, weight_output, weight_cache_read, weight_cache_write },
      ...{ weight_cache_write_1h, weight_audio_input, weight_audio_output, multipliers, tiers },
    }).filter(([, value]) => value !== undefined),
  );
  const id = await admin.createModel({
    kind: 'chat',
    ...model,
    name,
    price: { price_per_million, ...weights },
    is_on_shelf: true,
  });
  for (const protocol of protocols ??
    (model.kind === 'embedding' ? ['openai'] : ['openai', 'anthropic'])) {
    const upstream_id = await createDemoUpstream(tollgate, protocol, upstream);
    await admin.createRoute({ model_id: id, upstream_id, upstream_model: upstreamModel, ...route });
  }
  return { id, name };
}

/** Returns the file of the service account that the demo upstream process knows. */
export async function serviceAccountOf({ upstreamUrl }: Tollgate): Promise<string> {
  return (await fetch(`${upstreamUrl}/service-account`)).text();
}

/** Makes an upstream record that points at the demo upstream process. */
export function createDemoUpstream(
  { admin, upstreamUrl }: Tollgate,
  protocol: NewUpstream['protocol'] = 'openai',
  settings: Partial<NewUpstream> = {},
): Promise<number> {
  return admin.createUpstream({
    name: `${protocol}-${unique()}`,
    protocol,
    base_url: `${upstreamUrl}/v1`,
    ...(settings['auth'] === undefined && { api_key: `upstream-${unique()}` }),
    ...settings,
  });
}

/** Subscribes the customer and returns the secret of a new key that may call every model. */
export async function subscribeWithKey(
  customer: Customer,
  {
    modelIds,
    tokens = 1_000_000,
    key = {},
  }: { modelIds: readonly number[]; tokens?: number; key?: Partial<NewKey> },
): Promise<string> {
  for (const model_id of modelIds) await customer.client.subscribe({ model_id, tokens });
  return (
    await customer.client.createKey({
      name: `key-${unique()}`,
      allowed_models: '*',
      rpm: 0,
      rph: 0,
      rpd: 0,
      ...key,
    })
  ).key;
}

function unique(): string {
  return randomBytes(5).toString('hex');
}
