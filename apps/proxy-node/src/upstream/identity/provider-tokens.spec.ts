import { afterEach, expect, test } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import type { TokenAuth } from '@tollgate/contracts';
import { until } from '@tollgate/harness';
import type { TokenRequest } from '@tollgate/protocols';
import { ProviderTokens, type TokenAnswer } from './provider-tokens.ts';

const BASE = 'https://aiplatform.googleapis.com/v1/projects/p-12345/locations/global';
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});
const GOOGLE: TokenAuth = {
  type: 'google',
  service_account: JSON.stringify({
    type: 'service_account',
    client_email: 'a@b.iam.gserviceaccount.com',
    private_key: privateKey,
    token_uri: 'https://evil.example/token',
  }),
};
const ENTRA: TokenAuth = {
  type: 'azure',
  tenant: 'contoso.example',
  client_id: '00000000-0000-4000-8000-000000000001',
  client_secret: 'canary-secret',
};
const HOUR = 3_600_000;
const MINUTE = 60_000;

/** Is a token host whose answers a test gives, and a clock that it moves. */
class Host {
  now = 1_000_000;
  unixMs = Date.parse('2026-01-01T00:00:00Z');
  readonly asked: (TokenRequest & { answer: (answer: TokenAnswer) => void })[] = [];
  readonly logged: object[] = [];
  readonly tokens = new ProviderTokens({
    ask: (request) => new Promise((resolve) => this.asked.push({ ...request, answer: resolve })),
    now: () => this.now,
    unixMs: () => this.unixMs,
    log: {
      info: (facts: object) => void this.logged.push(facts),
      warn: (facts: object) => void this.logged.push(facts),
    },
  });

  retain(auth: TokenAuth = GOOGLE, ids: readonly number[] = [1]): void {
    this.tokens.retain(ids.map((id) => ({ id, baseUrl: BASE, auth })));
  }

  /** Answers the last request, and waits until the answer is taken. */
  async answer(status: number, body: object, date?: string): Promise<void> {
    const last = this.asked.at(-1);
    last?.answer({ status, body: JSON.stringify(body), date });
    await this.tokens.settled(1_000);
  }

  grant(token: string, expires_in = HOUR / 1000): Promise<void> {
    return this.answer(200, { access_token: token, expires_in });
  }

  async askedTimes(times: number): Promise<void> {
    await until(`${times} requests for a token`, () => this.asked.length === times);
  }

  claims(index: number): { iat: number; aud: string } {
    const { body } = this.asked[index] ?? { body: '' };
    const [, claims = ''] = (new URLSearchParams(body).get('assertion') ?? '').split('.');
    return JSON.parse(Buffer.from(claims, 'base64url').toString());
  }
}

let host: Host;
afterEach(() => host.tokens.close());

test('a token is fetched before it is needed, five minutes before it expires, and once at a time for all upstreams of an identity', async () => {
  host = new Host();
  host.retain(GOOGLE, [1, 2]);
  expect(host.asked.map(({ url }) => url)).toEqual(['https://oauth2.googleapis.com/token']);
  expect(host.tokens.waitMs({ id: 1 }, host.now)).toBeGreaterThan(0);
  host.retain(GOOGLE, [1, 2]);
  expect(host.asked).toHaveLength(1);
  await host.grant('first');
  expect([1, 2].map((id) => host.tokens.tokenOf({ id }))).toEqual(['first', 'first']);
  expect(host.tokens.waitMs({ id: 1 }, host.now)).toBe(0);

  host.now += HOUR - 5 * MINUTE - 1;
  host.retain(GOOGLE, [1, 2]);
  expect(host.asked).toHaveLength(1);
  host.now += 1;
  await host.askedTimes(2);
  host.retain(GOOGLE, [1, 2]);
  expect(host.asked).toHaveLength(2);
  expect(host.tokens.tokenOf({ id: 1 })).toBe('first');
  await host.grant('second');
  expect(host.tokens.tokenOf({ id: 2 })).toBe('second');
});

test('without a valid token an upstream waits; one whose last token still counts does not', async () => {
  host = new Host();
  host.retain();
  await host.grant('first');
  host.now += HOUR - 5 * MINUTE;
  await host.askedTimes(2);
  await host.answer(503, { error: 'unavailable' });
  expect(host.tokens.tokenOf({ id: 1 })).toBe('first');
  expect(host.tokens.missing(host.now)).toEqual([]);
  host.now += 5 * MINUTE;
  expect(host.tokens.tokenOf({ id: 1 })).toBeNull();
  expect(host.tokens.waitMs({ id: 1 }, host.now)).toBeGreaterThan(0);
  expect(host.tokens.missing(host.now)).toMatchObject([{ id: 1, failures_in_row: 1 }]);
  await host.askedTimes(3);
  await host.grant('next');
  expect(host.tokens.tokenOf({ id: 1 })).toBe('next');
});

test('an upstream with a key of its own waits for no token', () => {
  host = new Host();
  host.tokens.retain([{ id: 1, baseUrl: BASE, auth: { type: 'api_key', api_key: 'k' } }]);
  expect([host.asked.length, host.tokens.waitMs({ id: 1 }, host.now)]).toEqual([0, 0]);
});

test('a refusal is logged once, without the secret that the host repeats', async () => {
  host = new Host();
  host.retain(ENTRA);
  expect(host.asked[0]?.url).toBe(
    'https://login.microsoftonline.com/contoso.example/oauth2/v2.0/token',
  );
  const refusal = { error: 'invalid_client', error_description: 'wrong: canary-secret' };
  await host.answer(401, refusal);
  host.now += 2_000;
  await host.askedTimes(2);
  await host.answer(401, refusal);
  expect(host.logged).toEqual([
    { upstream_ids: [1], reason: 'the token host answered 401: invalid_client: wrong: ***' },
  ]);
});

test('an assertion that the host repeats is logged nowhere', async () => {
  host = new Host();
  host.retain();
  const assertion = new URLSearchParams(host.asked[0]?.body).get('assertion');
  await host.answer(400, { error: 'invalid_grant', error_description: assertion });
  expect(JSON.stringify(host.logged)).toContain('invalid_grant: ***');
});

test('a clock that is wrong by more than five minutes is said, and what is signed next has the time of the host', async () => {
  host = new Host();
  const trueMs = host.unixMs;
  host.unixMs += 10 * MINUTE;
  host.retain();
  await host.answer(400, { error: 'invalid_grant' }, new Date(trueMs).toUTCString());
  await host.askedTimes(2);
  expect([0, 1].map((index) => host.claims(index).iat * 1000)).toEqual([host.unixMs, trueMs]);
  expect(host.tokens.clockAheadMs).toBe(10 * MINUTE);
  await host.answer(200, { access_token: 't' }, new Date(trueMs).toUTCString());
  expect(host.tokens.clockAheadMs).toBe(10 * MINUTE);
  host.unixMs = trueMs + HOUR;
  host.now += HOUR;
  await host.askedTimes(3);
  await host.answer(200, { access_token: 't' }, new Date(host.unixMs).toUTCString());
  expect(host.tokens.clockAheadMs).toBe(0);
});

test('a clock within five minutes of the host is trusted', async () => {
  host = new Host();
  host.retain();
  const date = new Date(host.unixMs - 4 * MINUTE).toUTCString();
  await host.answer(200, { access_token: 't' }, date);
  expect(host.tokens.clockAheadMs).toBe(0);
});
