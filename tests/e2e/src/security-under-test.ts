import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { readSecret, secretTexts } from '@tollgate/contracts';
import { DEMO_APPLICATION, demoServiceAccount } from '@tollgate/demo-upstream';
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
const SERVICE_ACCOUNT = demoServiceAccount();

function keyLineOf(account: string): string {
  const secret = JSON.stringify({ type: 'google', service_account: account });
  const line = secretTexts(readSecret(secret)).find(({ length }) => length === 64);
  if (line === undefined) throw new Error('the private key has no whole line');
  return line;
}

export const canary = (what: string): string => `canary-${what}-${randomBytes(9).toString('hex')}`;
/** Only their owner may ever see one of these again. */
export const secrets = {
  prompt: canary('prompt'),
  upstreamKey: canary('upstream'),
  cookie: canary('cookie'),
  password: canary('password'),
  wrongPassword: canary('wrong'),
  furtherKey: canary('further'),
  awsSecret: canary('aws'),
  awsToken: canary('aws-token'),
  azureSecret: canary('azure'),
  /** One line of the private key of a service account. */
  googleKey: keyLineOf(SERVICE_ACCOUNT),
};

/** Upstreams of each kind of credential, at the demo upstream. */
const IDENTIFIED = [
  {
    ...{ protocol: 'bedrock', path: '', upstreamModel: 'us.amazon.nova-2-lite-v1:0' },
    auth: {
      ...{ type: 'aws', region: 'us-east-1', access_key_id: 'AKIDEXAMPLE' },
      ...{ secret_access_key: secrets.awsSecret, session_token: secrets.awsToken },
    },
  },
  {
    ...{ protocol: 'azure', path: '/openai/v1', upstreamModel: 'demo-ok' },
    auth: { ...DEMO_APPLICATION, type: 'azure', client_secret: secrets.azureSecret },
  },
  {
    ...{ protocol: 'vertex', path: '/v1/projects/demo-project/locations/global' },
    upstreamModel: 'gemini-2.5-flash',
    auth: { type: 'google', service_account: SERVICE_ACCOUNT },
  },
];

export let tollgate: Tollgate;
export let customer: Customer;
export let model: RoutedModel;
/** This model has a route of its own, which rests once it has failed. */
export let failing: RoutedModel;
/** Models behind providers whose credentials are no plain keys; some are refused there. */
export let identified: RoutedModel[];
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
    identified = [];
    for (const { protocol, path, upstreamModel, auth } of IDENTIFIED) {
      const upstream = { base_url: `${tollgate.upstreamUrl}${path}`, auth };
      const routed = await createRoutedModel(tollgate, {
        ...{ protocols: [protocol], upstreamModel, upstream },
      });
      identified.push(routed);
    }
    const [first] = await tollgate.admin.list('/upstreams');
    const further = { name: 'further', api_key: secrets.furtherKey };
    await tollgate.admin.call('POST', `/upstreams/${String(first?.['id'])}/credentials`, further);
    const modelIds = [model, failing, ...identified].map(({ id }) => id);
    key = await subscribeWithKey(customer, { modelIds });
    await tollgate.admin.syncAll();
  }, 60_000);
  afterAll(() => tollgate?.stop(), 30_000);
}
