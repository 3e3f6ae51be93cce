import { afterEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import {
  createServer,
  request,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createFrontDoor } from './front-door.ts';

const servers: { close: () => unknown }[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push({ close: () => (server.closeAllConnections(), server.close()) });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A node or control plane that is ready and answers with `handler`. */
function backend(handler: RequestListener): Promise<string> {
  return listen(
    createServer((incoming, response) =>
      incoming.url === '/readyz' ? response.end() : handler(incoming, response),
    ),
  );
}

const named = (name: string): Promise<string> =>
  backend((incoming, response) => response.end(`${name} ${incoming.method} ${incoming.url}`));

/** An address nothing listens on. */
async function closedAddress(): Promise<string> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return `http://127.0.0.1:${port}`;
}

async function frontDoor({
  nodes,
  controlPlane,
  ...settings
}: {
  nodes: string[];
  controlPlane?: string;
  TRUSTED_PROXIES?: string;
  CONNECT_FROM?: string;
}): Promise<{ url: string; nodes: ReturnType<typeof createFrontDoor>['pool']['nodes'] }> {
  const door = createFrontDoor(
    {
      CONTROL_PLANE_URL: controlPlane ?? (await closedAddress()),
      PROXY_URLS: nodes,
      HEALTH_CHECK_MS: 50,
      TRUSTED_PROXIES: '',
      CONNECT_FROM: undefined,
      ...settings,
    },
    () => {},
  );
  await door.pool.start();
  const url = await listen(door.server);
  servers.push({ close: () => door.pool.stop() });
  return { url, nodes: door.pool.nodes };
}

/** Until a count that grows has been the same for 100 ms. */
async function standsStill(count: () => number): Promise<void> {
  for (let last = -1; last !== count(); await delay(100)) last = count();
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  let text = '';
  for await (const bytes of incoming) text += String(bytes);
  return text;
}

test('sends the proxy interface and the probes of coding clients to a node, everything else to the control plane', async () => {
  const { url } = await frontDoor({
    nodes: [await named('node')],
    controlPlane: await named('control-plane'),
  });
  const ask = async (path: string): Promise<string> => (await fetch(`${url}${path}`)).text();
  expect(await ask('/v1/models?limit=2')).toBe('node GET /v1/models?limit=2');
  expect(await ask('/api/hello')).toBe('node GET /api/hello');
  expect(await ask('/admin-api/auth/me')).toBe('control-plane GET /admin-api/auth/me');
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
  // As it is written: fetch would tidy the path up.
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

test('passes each streamed event on when it comes, and the headers before the first', async () => {
  let send: (text: string) => void = () => {};
  const node = await backend((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    send = (text) => void response.write(text);
  });
  const { url } = await frontDoor({ nodes: [node] });
  const answer = await fetch(`${url}/v1/messages`, { method: 'POST', body: '{}' });
  const reader = answer.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  for (const event of ['data: one\n\n', 'data: two\n\n']) {
    send(event);
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(event);
  }
  await reader.cancel();
});

test('closes the request to the node at once when a client hangs up', async () => {
  let hungUp: Promise<unknown> = Promise.resolve();
  const node = await backend((_, response) => {
    hungUp = once(response, 'close');
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n');
  });
  const { url } = await frontDoor({ nodes: [node] });
  const client = new AbortController();
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    body: '{}',
    signal: client.signal,
  });
  await answer.body?.getReader().read();
  client.abort();
  await hungUp;
});

test('S40: says who calls in X-Forwarded-For, whatever the client says', async () => {
  const node = await backend((incoming, response) =>
    response.end(JSON.stringify(incoming.headers)),
  );
  const { url } = await frontDoor({ nodes: [node] });
  const forged = {
    'x-forwarded-for': '203.0.113.9',
    forwarded: 'for=203.0.113.9',
    'x-real-ip': '203.0.113.9',
  };
  const seen = (await (await fetch(`${url}/v1/models`, { headers: forged })).json()) as Record<
    string,
    string
  >;
  expect(seen['x-forwarded-for']).toBe('127.0.0.1');
  expect(JSON.stringify(seen)).not.toContain('203.0.113.9');
});

test('S40: a trusted proxy in front says who calls and that the connection is encrypted; no other does', async () => {
  const node = await backend((incoming, response) =>
    response.end(JSON.stringify(incoming.headers)),
  );
  const headers = {
    'x-forwarded-for': '198.51.100.7, 203.0.113.9, 10.0.0.3',
    'x-forwarded-proto': 'https',
  };
  const seenBehind = async (TRUSTED_PROXIES: string): Promise<unknown> => {
    const { url } = await frontDoor({ nodes: [node], TRUSTED_PROXIES });
    const answer = await fetch(`${url}/v1/models`, { headers });
    return answer.json();
  };
  expect(await seenBehind('127.0.0.0/8, 10.0.0.0/8')).toMatchObject({
    'x-forwarded-for': '203.0.113.9',
    'x-forwarded-proto': 'https',
  });
  expect(await seenBehind('192.0.2.1')).toMatchObject({
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-proto': 'http',
  });
});

test('S31: keeps hop-by-hop headers, and those a Connection header names, on their own connection', async () => {
  const node = await backend((incoming, response) => {
    response.writeHead(200, {
      connection: 'close, x-inner',
      'x-inner': '1',
      'proxy-authenticate': 'Basic',
      'x-kept': '1',
    });
    response.end(JSON.stringify(incoming.headers));
  });
  const { url } = await frontDoor({ nodes: [node] });
  const outgoing = request(`${url}/v1/models`, {
    headers: {
      connection: 'keep-alive, x-secret, authorization',
      'x-secret': '1',
      te: 'trailers',
      'proxy-authorization': 'x',
      authorization: 'Bearer k',
    },
  }).end();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  const seen = JSON.parse(await readBody(answer)) as Record<string, string>;
  expect(Object.keys(seen)).not.toEqual(expect.arrayContaining(['x-secret']));
  expect(seen).not.toHaveProperty('te');
  expect(seen).not.toHaveProperty('proxy-authorization');
  expect(seen.authorization).toBe('Bearer k');
  expect(answer.headers).not.toHaveProperty('x-inner');
  expect(answer.headers).not.toHaveProperty('proxy-authenticate');
  expect(answer.headers).toMatchObject({ 'x-kept': '1', connection: 'keep-alive' });
});

test('closes the connection of a client that asks for it', async () => {
  const { url } = await frontDoor({ nodes: [await named('node')] });
  const outgoing = request(`${url}/v1/models`, {
    agent: false,
    headers: { connection: 'close' },
  }).end();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  expect(answer.headers.connection).toBe('close');
  await readBody(answer);
});

test('goes to another node with the whole body when the first cannot be connected to', async () => {
  const dying = createServer((_, response) => response.end());
  const dyingUrl = await listen(dying);
  const alive = await backend(
    (incoming, response) =>
      void readBody(incoming).then((body) => response.end(String(body.length))),
  );
  const { url, nodes } = await frontDoor({ nodes: [dyingUrl, alive] });
  expect(nodes.every((node) => node.isReady)).toBe(true);
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

test('cuts the client off when a node dies in the middle of an answer', async () => {
  const node = await backend((_, response) => {
    response.write('data: one\n\n', () => setImmediate(() => response.socket?.destroy()));
  });
  const { url } = await frontDoor({ nodes: [node] });
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' });
  await expect(answer.text()).rejects.toThrow();
});

test('a chunk extension is 400 and reaches no node; chunks without one are framed anew', async () => {
  const bodies: string[] = [];
  const node = await backend((incoming, response) => {
    let body = '';
    incoming.on('data', (bytes) => (body += String(bytes)));
    incoming.on('end', () => {
      bodies.push(body);
      response.end();
    });
  });
  const { url } = await frontDoor({ nodes: [node] });
  const statusOf = async (framed: string): Promise<string> => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(
      `POST /v1/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${framed}`,
    );
    let text = '';
    for await (const bytes of socket) text += String(bytes);
    return text.slice(0, 12);
  };
  expect(await statusOf('2;a=b\r\n{}\r\n0\r\n\r\n')).toBe('HTTP/1.1 400');
  expect(await statusOf('1\r\n{\r\n01\r\n}\r\n0\r\n\r\n')).toBe('HTTP/1.1 200');
  expect(bodies).toEqual(['{}']);
});

test('an answer that comes before the body is whole reaches the client', async () => {
  const node = await backend((_, response) =>
    response.writeHead(413, { connection: 'close' }).end('too large'),
  );
  const { url } = await frontDoor({ nodes: [node] });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write('POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n{');
  let text = '';
  for await (const bytes of socket) {
    text += String(bytes);
    if (text.includes('too large')) break;
  }
  expect(text).toMatch(/^HTTP\/1\.1 413 /);
});

test('a client that reads slowly holds the node back, and gets all of it', async () => {
  const piece = Buffer.alloc(1024 * 1024, 'x');
  let written = 0;
  const node = await backend((_, response) => {
    const write = (): void => {
      while (written < 24) {
        written += 1;
        if (!response.write(piece)) return void response.once('drain', write);
      }
      response.end();
    };
    write();
  });
  const { url } = await frontDoor({ nodes: [node] });
  const [answer] = (await once(request(`${url}/v1/x`).end(), 'response')) as [IncomingMessage];
  await standsStill(() => written);
  expect(written).toBeLessThan(20);
  let read = 0;
  for await (const bytes of answer) read += (bytes as Buffer).length;
  expect(read).toBe(24 * piece.length);
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
  for (let tries = 0; tries < 100 && (await fetch(`${url}/readyz`)).status !== 200; tries += 1)
    await delay(20);
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

test('passes chunked bodies of any method on as chunked, so that no byte of one can pose as the next request', async () => {
  const node = await backend(
    (incoming, response) =>
      void readBody(incoming).then((body) => response.end(`${incoming.method} ${body}`)),
  );
  const { url } = await frontDoor({ nodes: [node] });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(
    'DELETE /v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nGET /\r\n0\r\n\r\n',
  );
  let text = '';
  for await (const bytes of socket) text += String(bytes);
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(text).toContain('DELETE GET /');
});

test('S30: a request whose framing can be read in two ways is refused, and its connection closed, before the server behind sees it', async () => {
  let seen = 0;
  const node = await backend((_, response) => void ((seen += 1), response.end()));
  const { url } = await frontDoor({ nodes: [node] });
  const { hostname, port } = new URL(url);
  const chunked = 'transfer-encoding: chunked';
  const heads = [
    'content-length: 4\r\ntransfer-encoding: chunked',
    'content-length: 4\r\ncontent-length: 5',
    'transfer-encoding: chunked, identity',
    'transfer-encoding : chunked',
    'x: a\ny: b',
    'x: a\0b',
    `x: a\r\n folded\r\n${chunked}\r\ncontent-length: 1`,
  ];
  for (const head of heads) {
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(
          `POST /v1/messages HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n0\r\n\r\nGET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n`,
        ),
      );
      let text = '';
      socket.on('data', (data) => (text += data.toString()));
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });
    expect([head, answer.match(/HTTP\/1\.1 \d+/g)]).toEqual([head, ['HTTP/1.1 400']]);
  }
  expect(seen).toBe(0);
});
