import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import {
  AdminClient,
  createCustomer,
  createRoutedModel,
  startTollgate,
  subscribeWithKey,
  type AdminRefusal,
  type Customer,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';

/** These are cases of the threat model that only a whole installation can show. */
export const REGISTRATIONS = 3;
export const canary = (what: string): string => `canary-${what}-${randomBytes(9).toString('hex')}`;
/** Only their owner may ever see one of these again. */
export const secrets = {
  prompt: canary('prompt'),
  upstreamKey: canary('upstream'),
  cookie: canary('cookie'),
  password: canary('password'),
  wrongPassword: canary('wrong'),
};

export let tollgate: Tollgate;
export let customer: Customer;
export let model: RoutedModel;
/** This model has a route of its own, which rests once it has failed. */
export let failing: RoutedModel;
export let key: string;

export async function chat(
  prompt: string,
  more: { apiKey?: string; named?: string; stream?: boolean } = {},
): Promise<{ rid: string; text: string }> {
  const response = await fetch(`${tollgate.frontDoorUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${more.apiKey ?? key}`,
      'content-type': 'application/json',
      cookie: `tollgate_session=${secrets.cookie}`,
    },
    body: JSON.stringify({
      model: more.named ?? model.name,
      stream: more.stream ?? false,
      messages: [{ role: 'user', content: `${secrets.prompt} ${prompt}` }],
    }),
  });
  return { rid: response.headers.get('x-request-id') ?? '', text: await response.text() };
}
export const refusal = (call: Promise<unknown>): Promise<AdminRefusal> =>
  call.then(
    () => {
      throw new Error('it was not refused');
    },
    (error: AdminRefusal) => error,
  );
export const login = (username: string, password: string) =>
  new AdminClient(tollgate.adminUrl).login(username, password);

/** Starts one installation, which serves all parts; the spec that imports them calls it. */
export function shareTollgate(): void {
  beforeAll(async () => {
    tollgate = await startTollgate({
      nodes: 2,
      frontDoor: true,
      // These processes show that the product works without its replacements of libraries, too.
      route: async (process) =>
        process === 'node-2' || process === 'control-plane' ? { LIBRARY_PATHS: 'all' } : {},
      env: { REGISTRATIONS_PER_ADDRESS_PER_DAY: String(REGISTRATIONS), LOG_LEVEL: 'trace' },
    });
    customer = await createCustomer(tollgate);
    model = await createRoutedModel(tollgate, { protocols: ['openai'] });
    failing = await createRoutedModel(tollgate, { protocols: ['openai'] });
    for (const { id } of await tollgate.admin.list('/upstreams'))
      await tollgate.admin.call('PUT', `/upstreams/${String(id)}`, {
        api_key: secrets.upstreamKey,
      });
    key = await subscribeWithKey(customer, { modelIds: [model.id, failing.id] });
    await tollgate.admin.syncAll();
  }, 60_000);
  afterAll(() => tollgate?.stop(), 30_000);
}
