import { afterEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import {
  Agent,
  createServer,
  request,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { until, letPass } from '@tollgate/harness';
import {
  backend,
  closedAddress,
  closeServers,
  frontDoor,
  listen,
  named,
  readBody,
} from './testing/front-door-under-test.ts';

afterEach(closeServers);

test('sends the proxy interface and the probes of coding clients to a node, everything else to the control plane', async () => {
  const { url } = await frontDoor({
    nodes: [await named('node')],
    controlPlane: await named('control-plane'),
  });
  const ask = async (path: string): Promise<string> => (await fetch(`${url}${path}`)).text();
  expect(await ask('/v1/models?limit=2')).toBe('node GET /v1/models?limit=2');
  expect(await ask('/api/hello')).toBe('node GET /api/hello');
  expect(await ask('/admin-api/auth/me')).toBe('control-plane GET /admin-api/auth/me');
  expect(await ask('/v1beta/models')).toBe('node GET /v1beta/models');
  expect(await ask('/v1beta')).toBe('control-plane GET /v1beta');
  expect(await ask('/')).toBe('control-plane GET /');
});

test('a path that climbs out of the proxy interface does not reach a node, whichever way it is written', async () => {
  const { url } = await frontDoor({
    nodes: [await named('node')],
    controlPlane: await named('control-plane'),
  });
  const port = Number(new URL(url).port);
  const ask = (path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      request({ port, path }, (answer) => void readBody(answer).then(resolve, reject))
        .on('error', reject)
        .end();
    });
  for (const path of ['/v1/../admin', '/v1/%2e%2E/admin', '/v1/./.%2e/admin'])
    expect(await ask(path)).toBe('control-plane GET /admin');
  expect(await ask('/v1/models/a..b?x=/../y')).toBe('node GET /v1/models/a..b?x=/../y');
  expect(await ask('/admin-api/../v1/models')).toBe('node GET /v1/models');
});

test.each([
  '/internal/journal',
  '/Internal/Journal',
  '/INTERNAL',
  '/%69nternal/journal',
  '/%2569nternal/journal',
  '//internal/journal',
  '/x/%2e%2e/internal/journal',
  '/internal%2Fjournal',
  '/metrics',
  '/Metrics/',
  '/x/%2e%2e/metrics',
])('S56: %s, which is for nodes and operators, is closed to all others', async (path) => {
  const { hostname, port } = new URL(
    (await frontDoor({ nodes: [await named('node')], controlPlane: await named('plane') })).url,
  );
  // The path is sent as it is written: fetch would tidy it up.
  const asked = request({ hostname, port, path, method: 'POST' }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  expect([answer.statusCode, await readBody(answer)]).toEqual([
    404,
    expect.not.stringContaining('plane'),
  ]);
});

test('answers a bare HEAD / from a node', async () => {
  const node = await backend((_, response) => response.writeHead(204, { 'x-from': 'node' }).end());
  const { url } = await frontDoor({ nodes: [node], controlPlane: await named('control-plane') });
  expect((await fetch(`${url}/`, { method: 'HEAD' })).headers.get('x-from')).toBe('node');
});

test('goes to another node with the whole body when the first cannot be connected to', async () => {
  const dying = createServer((_, response) => response.end());
  const dyingUrl = await listen(dying);
  const alive = await backend(
    (incoming, response) =>
      void readBody(incoming).then((body) => response.end(String(body.length))),
  );
  const { url, nodes } = await frontDoor({ nodes: [dyingUrl, alive] });
  expect(nodes.every(({ standing }) => standing === 'ready')).toBe(true);
  dying.closeAllConnections();
  dying.close();
  const body = 'x'.repeat(1_000_000);
  const answers = await Promise.all(
    Array.from({ length: 6 }, async () =>
      (await fetch(`${url}/v1/chat/completions`, { method: 'POST', body })).text(),
    ),
  );
  expect(answers).toEqual(Array(6).fill(String(body.length)));
});

test('never sends a request a second time once a node has been connected to', async () => {
  let requests = 0;
  const breaking: RequestListener = (incoming) => {
    requests += 1;
    incoming.socket.destroy();
  };
  const { url } = await frontDoor({ nodes: [await backend(breaking), await backend(breaking)] });
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' });
  expect(answer.status).toBe(502);
  expect(await answer.json()).toMatchObject({
    error: { type: 'server_error', code: 'upstream_error' },
  });
  expect(requests).toBe(1);
});

test('answers 503 with Retry-After while no node is ready, and serves again once one is', async () => {
  let isReady = false;
  const node = await listen(
    createServer((incoming, response) =>
      response.writeHead(incoming.url !== '/readyz' || isReady ? 200 : 503).end(),
    ),
  );
  const { url } = await frontDoor({ nodes: [node] });
  const refused = await fetch(`${url}/v1/models`);
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  isReady = true;
  await until('a node is ready', async () => (await fetch(`${url}/readyz`)).status === 200);
  expect((await fetch(`${url}/v1/models`)).status).toBe(200);
});

test.each([
  [
    'POST',
    '/v1/chat/completions',
    {
      error: {
        type: 'server_error',
        code: 'unavailable',
        param: null,
        message: expect.any(String),
      },
    },
  ],
  ['POST', '/v1/responses?x=1', { error: { type: 'server_error', code: 'unavailable' } }],
  ['GET', '/v1/models', { error: { type: 'server_error', code: 'unavailable' } }],
  [
    'POST',
    '/v1/messages?beta=true',
    { type: 'error', error: { type: 'api_error', message: expect.any(String) } },
  ],
  ['POST', '/v1/messages/count_tokens', { type: 'error', error: { type: 'api_error' } }],
])(
  'without a ready node, %s %s is refused in the shape of its own protocol, with an id and when to come back',
  async (method, path, body) => {
    const { url } = await frontDoor({ nodes: [await closedAddress()] });
    const refused = await fetch(`${url}${path}`, {
      method,
      ...(method === 'POST' && { body: '{}' }),
    });
    expect({
      status: refused.status,
      type: refused.headers.get('content-type'),
      retryAfter: refused.headers.get('retry-after'),
    }).toEqual({ status: 503, type: 'application/json', retryAfter: '1' });
    const requestId = refused.headers.get('x-request-id');
    expect(requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(refused.headers.get('request-id')).toBe(requestId);
    expect(await refused.json()).toMatchObject({ ...body, request_id: requestId });
  },
);

test('answers 503 while the control plane is away, and still serves /v1', async () => {
  const { url } = await frontDoor({ nodes: [await named('node')] });
  const refused = await fetch(`${url}/admin-api/wallet`);
  expect(refused.status).toBe(503);
  expect(await refused.json()).toMatchObject({ code: 'control_plane_unavailable' });
  expect((await fetch(`${url}/v1/models`)).status).toBe(200);
});

test('spreads requests over the ready nodes', async () => {
  const open: ServerResponse[] = [];
  const seen = new Set<string>();
  const holding = (name: string): Promise<string> =>
    backend((_, response) => {
      seen.add(name);
      open.push(response);
      if (open.length === 4) for (const each of open) each.end();
    });
  const { url } = await frontDoor({ nodes: [await holding('one'), await holding('two')] });
  await Promise.all(Array.from({ length: 4 }, () => fetch(`${url}/v1/models`)));
  expect([...seen].sort()).toEqual(['one', 'two']);
});

test('a client that still sends when the answer comes is read to its end, and its connection serves its next request', async () => {
  const node = await backend((incoming, response) => {
    incoming.resume();
    response.writeHead(incoming.method === 'POST' ? 413 : 200).end('too large');
  });
  const { url } = await frontDoor({ nodes: [node] });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const upload = request(`${url}/v1/x`, { method: 'POST', agent });
  const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
  const piece = Buffer.alloc(1024 * 1024, ' ');
  upload.write(piece);
  const [answer] = await answered;
  expect([answer.statusCode, await readBody(answer)]).toEqual([413, 'too large']);
  for (let piecesLeft = 16; piecesLeft > 0; piecesLeft -= 1) upload.write(piece);
  upload.end();
  await once(upload, 'close');
  const next = request(`${url}/v1/x`, { agent }).end();
  const [second] = (await once(next, 'response')) as [IncomingMessage];
  expect([second.statusCode, next.reusedSocket]).toEqual([200, true]);
  agent.destroy();
});

test('a short body that comes in pieces after its answer is read to its end too', async () => {
  const node = await backend((incoming, response) => {
    incoming.resume();
    response.end(incoming.url);
  });
  const { url } = await frontDoor({ nodes: [node] });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const pieces = 20;
  const upload = request(`${url}/v1/x`, {
    method: 'POST',
    agent,
    headers: { 'content-length': pieces },
  });
  const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
  upload.write('a');
  const [answer] = await answered;
  expect(await readBody(answer)).toBe('/v1/x');
  for (let sent = 1; sent < pieces; sent += 1) {
    upload.write('a');
    await letPass(10, 'each byte leaves in a packet of its own');
  }
  upload.end();
  await once(upload, 'close');
  const next = request(`${url}/v1/next`, { agent }).end();
  const [second] = (await once(next, 'response')) as [IncomingMessage];
  expect([await readBody(second), next.reusedSocket]).toEqual(['/v1/next', true]);
  agent.destroy();
});

test('a head that is never sent to its end is answered 408 and its connection ends, as at a node', async () => {
  const { url } = await frontDoor({ nodes: [], HEADER_TIMEOUT_MS: 200 });
  const startedAt = performance.now();
  const answers = await Promise.all(
    ['', 'GET /v1/models HT', 'GET /v1/models HTTP/1.1\r\nhost: x\r\nx-api-k'].map(async (half) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      socket.write(half);
      return (await text(socket)).slice(0, 12);
    }),
  );
  expect(answers).toEqual(Array.from({ length: 3 }, () => 'HTTP/1.1 408'));
  // The limit covers the timeout and one look for slow heads; Node's own look comes after 30 s.
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});
