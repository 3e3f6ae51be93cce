import { AnthropicVertex } from '@anthropic-ai/vertex-sdk';
import { GoogleGenAI } from '@google/genai';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { OAuth2Client } from 'google-auth-library';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { SignJWT } from 'jose';
import { createDemoUpstream } from '../server.ts';
import { DEMO_APPLICATION, demoServiceAccount } from './tokens.ts';

const { server, record } = createDemoUpstream();
let origin = '';
let token = '';
const PROMPT = '@demo tokens=5';
const WORDS = ' this is the demo answering';
const PLACE = { project: 'demo-project', location: 'us-central1' };
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  token = (await exchange({})).access_token;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

interface Claims {
  audience?: string;
  issuer?: string;
  at?: number;
  lifeS?: number;
  key?: string;
}

/** Asks for a token with an assertion that the product did not make. */
async function exchange({ audience, issuer, at = Date.now(), lifeS = 3_600, key }: Claims) {
  const account = JSON.parse(demoServiceAccount());
  const issuedAt = Math.floor(at / 1000);
  const assertion = await new SignJWT({ scope: 'https://www.googleapis.com/auth/cloud-platform' })
    .setProtectedHeader({ alg: 'RS256' })
    .setIssuer(issuer ?? account.client_email)
    .setAudience(audience ?? `${origin}/token`)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + lifeS)
    .sign(createPrivateKey(key ?? account.private_key));
  return post('/token', { grant_type: GRANT, assertion });
}

async function post(path: string, form: Record<string, string>) {
  const answer = await fetch(origin + path, { method: 'POST', body: new URLSearchParams(form) });
  return (await answer.json()) as { access_token: string; error?: string };
}

const authClient = (): OAuth2Client => {
  const client = new OAuth2Client();
  client.setCredentials({ access_token: token, expiry_date: Date.now() + 3_600_000 });
  return client;
};
const genai = () =>
  new GoogleGenAI({
    vertexai: true,
    ...PLACE,
    googleAuthOptions: { authClient: authClient() },
    httpOptions: { baseUrl: origin },
  });
const claude = () =>
  new AnthropicVertex({
    projectId: PLACE.project,
    region: PLACE.location,
    baseURL: `${origin}/v1`,
    authClient: authClient(),
    maxRetries: 0,
  });

test('@google/genai gets answers, streams and vectors from the double', async () => {
  const { models } = genai();
  const asked = { model: 'gemini-2.5-flash', contents: PROMPT };
  const whole = await models.generateContent(asked);
  expect([whole.text, whole.usageMetadata?.candidatesTokenCount]).toEqual([WORDS, 5]);
  let streamed = '';
  for await (const chunk of await models.generateContentStream(asked)) streamed += chunk.text ?? '';
  expect(streamed).toBe(WORDS);
  const embedded = await models.embedContent({ model: 'text-embedding-005', contents: ['a', 'b'] });
  expect(embedded.embeddings?.map(({ values }) => values?.length)).toEqual([8, 8]);
});

test('@anthropic-ai/vertex-sdk gets answers and streams of Claude from the double', async () => {
  const asked = {
    model: 'claude-haiku-4-5@20251001',
    max_tokens: 100,
    messages: [{ role: 'user' as const, content: PROMPT }],
  };
  const { messages } = claude();
  const answers = [await messages.create(asked), await messages.stream(asked).finalMessage()];
  for (const { content, usage } of answers) {
    expect(content).toMatchObject([{ type: 'text', text: WORDS }]);
    expect(usage.output_tokens).toBe(5);
  }
  expect(record.list().at(-1)).toMatchObject({ protocol: 'messages', isStream: true });
});

test('the double refuses a call without a token that it issued', async () => {
  const path =
    '/v1/projects/demo-project/locations/global/publishers/google/models/m:generateContent';
  const answer = await fetch(origin + path, {
    method: 'POST',
    headers: { authorization: 'Bearer made-up' },
    body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: PROMPT }] }] }),
  });
  expect(answer.status).toBe(401);
});

const OTHER_KEY = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
}).privateKey;
test.each<[string, Claims]>([
  ['of another key', { key: OTHER_KEY }],
  ['of another account', { issuer: 'x@y.iam.gserviceaccount.com' }],
  ['for another host', { audience: 'https://oauth2.googleapis.com/token' }],
  ['that is old', { at: Date.now() - 2 * 3_600_000, lifeS: 24 * 3_600 }],
  ['of the future', { at: Date.now() + 600_000 }],
  ['that lives too long', { lifeS: 7_200 }],
])('an assertion %s gets no token', async (_, claims) => {
  const { access_token, error } = await exchange(claims);
  expect([access_token, error]).toEqual([undefined, 'invalid_grant']);
});

test('an application gets a token for its secret alone', async () => {
  const { tenant, client_id, client_secret } = DEMO_APPLICATION;
  const scope = 'https://cognitiveservices.azure.com/.default';
  const form = { grant_type: 'client_credentials', client_id, client_secret, scope };
  const path = `/${tenant}/oauth2/v2.0/token`;
  expect((await post(path, form)).access_token).toMatch(/^demo-token-/);
  expect((await post(path, { ...form, client_secret: 'x' })).error).toBe('invalid_client');
});
