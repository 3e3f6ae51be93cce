import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, test } from '@jest/globals';
import { AdminClient, type AdminRefusal } from '@tollgate/harness';
import {
  canary,
  customer,
  key,
  model,
  refusal,
  REGISTRATIONS,
  tollgate,
} from './security-under-test.ts';

test('S6: an address in the body or a header of a request leads nowhere', async () => {
  const elsewhere = 'http://127.0.0.1:1/v1';
  const response = await fetch(`${tollgate.nodeUrls[0]}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-api-base': elsewhere,
      'x-upstream-url': elsewhere,
      'x-forwarded-host': '127.0.0.1:1',
    },
    body: JSON.stringify({
      model: model.name,
      api_base: elsewhere,
      base_url: elsewhere,
      metadata: { api_base: elsewhere, user_config: { base_url: elsewhere } },
      messages: [{ role: 'user', content: '@demo tokens=2' }],
    }),
  });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ usage: { completion_tokens: 2 } });
});

test('S39: no other origin is allowed to a browser, on either interface', async () => {
  for (const origin of ['https://elsewhere.example', 'null']) {
    for (const [url, token] of [
      [`${tollgate.nodeUrls[0]}/v1/models`, key],
      [`${tollgate.adminUrl}/admin-api/auth/me`, tollgate.admin.token],
    ] as const) {
      for (const method of ['GET', 'OPTIONS']) {
        const { headers } = await fetch(url, {
          method,
          headers: {
            origin,
            authorization: `Bearer ${token}`,
            'access-control-request-method': 'GET',
          },
        });
        expect([
          headers.get('access-control-allow-origin'),
          headers.get('access-control-allow-credentials'),
        ]).toEqual([null, null]);
      }
    }
  }
});

test('S41: what users name is inert: no markup in names people sign in with, and nothing that a browser would run elsewhere', async () => {
  const image = '<img src=x onerror=alert(1)>';
  expect(
    await refusal(new AdminClient(tollgate.adminUrl).register(image, 'a long secret')),
  ).toMatchObject({ status: 400 });
  expect(
    await refusal(
      tollgate.admin.call('POST', '/proxy-nodes', { name: 'node', url: 'javascript:alert(1)' }),
    ),
  ).toMatchObject({ status: 400 });
  await customer.client.createKey({ name: image });
  const response = await fetch(`${tollgate.frontDoorUrl}/admin-api/keys`, {
    headers: { authorization: `Bearer ${customer.client.token}` },
  });
  expect(await response.text()).toContain(JSON.stringify(image));
  expect(response.headers.get('content-type')).toContain('application/json');
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(response.headers.get('content-security-policy')).not.toContain('unsafe-inline');
});

test('S43: registering many accounts from one address is capped, and a new account has nothing to spend', async () => {
  const anonymous = new AdminClient(tollgate.adminUrl);
  const ids = [];
  // The setup has registered one customer from this address already.
  for (let count = 0; count <= REGISTRATIONS; count += 1)
    ids.push(
      await anonymous
        .register(canary('user').slice(0, 40), 'a long secret')
        .catch((error: AdminRefusal) => error),
    );
  expect(ids.at(-1)).toMatchObject({ status: 429, code: 'registration_limit' });
  const id = ids.find((one) => typeof one === 'number');
  if (id !== undefined)
    expect(await tollgate.admin.call('GET', `/wallet?user_id=${id}`)).toMatchObject({
      balance: '0',
    });
});

test('S45: nothing listens beyond the loopback address unless configured to', async () => {
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((one) => one !== undefined && !one.internal && one.family === 'IPv4')?.address;
  const urls = [
    tollgate.adminUrl,
    ...tollgate.nodeUrls,
    tollgate.upstreamUrl,
    tollgate.frontDoorUrl ?? '',
  ];
  for (const port of [
    ...urls.map((url) => Number(new URL(url).port)),
    ...tollgate.services.ports.values(),
  ]) {
    expect([port, await accepts('127.0.0.1', port)]).toEqual([port, true]);
    if (outside !== undefined) expect([port, await accepts(outside, port)]).toEqual([port, false]);
  }
});

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2_000 });
    const answer = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket
      .once('connect', () => answer(true))
      .once('error', () => answer(false))
      .once('timeout', () => answer(false));
  });
}
