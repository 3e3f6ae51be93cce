import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { importSPKI, jwtVerify } from 'jose';

/** Is the application of Entra that this double knows. */
export const DEMO_APPLICATION = {
  tenant: 'demo.example',
  client_id: '00000000-0000-4000-8000-000000000001',
  client_secret: 'demo-client-secret',
} as const;

const CLIENT_EMAIL = 'demo@demo-project.iam.gserviceaccount.com';
const LIFE_S = 3_600;
const CLOCK_SLACK_S = 300;
const TOKENS_MAX = 1_000;

interface TokenAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** The account is a new one in each process, so that no key lies in the repository. */
let account: { file: Readonly<Record<string, string>>; publicPem: string } | undefined;

function demoAccount() {
  if (account) return account;
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const file = {
    type: 'service_account',
    project_id: 'demo-project',
    private_key_id: 'demo-key',
    private_key: privateKey,
    client_email: CLIENT_EMAIL,
  };
  account = { file, publicPem: publicKey };
  return account;
}

/** Returns the JSON file of the service account that this double knows. */
export function demoServiceAccount(): string {
  return JSON.stringify(demoAccount().file);
}

const issued = new Set<string>();

function issue(): TokenAnswer {
  const token = `demo-token-${randomBytes(24).toString('base64url')}`;
  const [oldest] = issued;
  if (issued.size >= TOKENS_MAX && oldest !== undefined) issued.delete(oldest);
  issued.add(token);
  return { status: 200, body: { access_token: token, expires_in: LIFE_S, token_type: 'Bearer' } };
}

/** Returns true for a request with a token of this double. */
export function hasToken({ headers }: IncomingMessage): boolean {
  return issued.has((headers.authorization ?? '').replace(/^Bearer /, ''));
}

/** Answers as the token hosts of Google and Microsoft, and the file of the account. Returns null for a path of neither. */
export function tokenCall(
  { method, headers }: IncomingMessage,
  url: URL,
): ((form: string) => Promise<TokenAnswer>) | null {
  if (method === 'GET' && url.pathname === '/service-account')
    return async () => ({ status: 200, body: demoAccount().file });
  if (method !== 'POST') return null;
  if (url.pathname === '/token')
    return (form) => exchangeAssertion(form, `http://${headers.host}/token`);
  if (url.pathname === `/${DEMO_APPLICATION.tenant}/oauth2/v2.0/token`)
    return async (form) => exchangeSecret(new URLSearchParams(form));
  return null;
}

/** `jose` judges the assertion, as it did not make it. */
async function exchangeAssertion(form: string, audience: string): Promise<TokenAnswer> {
  const fields = new URLSearchParams(form);
  if (fields.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer')
    return refused('unsupported_grant_type', 'an assertion is expected');
  const publicKey = await importSPKI(demoAccount().publicPem, 'RS256');
  try {
    const { payload } = await jwtVerify(fields.get('assertion') ?? '', publicKey, {
      algorithms: ['RS256'],
      issuer: CLIENT_EMAIL,
      audience,
      requiredClaims: ['iat', 'exp', 'scope'],
      maxTokenAge: LIFE_S,
      clockTolerance: CLOCK_SLACK_S,
    });
    return Number(payload.exp) - Number(payload.iat) <= LIFE_S
      ? issue()
      : refused('invalid_grant', 'it lives too long');
  } catch (error) {
    return refused('invalid_grant', `Invalid JWT: ${Object(error).code ?? 'unreadable'}`);
  }
}

function exchangeSecret(fields: URLSearchParams): TokenAnswer {
  const isRight =
    fields.get('grant_type') === 'client_credentials' &&
    fields.get('client_id') === DEMO_APPLICATION.client_id &&
    fields.get('client_secret') === DEMO_APPLICATION.client_secret &&
    fields.get('scope') === 'https://cognitiveservices.azure.com/.default';
  return isRight ? issue() : refused('invalid_client', 'AADSTS7000215: Invalid client secret');
}

function refused(error: string, error_description: string): TokenAnswer {
  return { status: error === 'invalid_client' ? 401 : 400, body: { error, error_description } };
}
