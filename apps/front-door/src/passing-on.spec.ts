import { afterEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { letPass } from '@tollgate/harness';
import {
  backend,
  closeServers,
  frontDoor,
  named,
  readBody,
} from './testing/front-door-under-test.ts';

afterEach(closeServers);

/** Waits until a count that grows has been the same for 100 ms. */
async function standsStill(count: () => number): Promise<void> {
  for (let last = -1; last !== count();) {
    last = count();
    await letPass(100, 'a count that stands still for this long has ended');
  }
}

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

test('cuts the client off when a node dies in the middle of an answer', async () => {
  const node = await backend((_, response) => {
    response.write('data: one\n\n', () => setImmediate(() => response.socket?.destroy()));
  });
  const { url } = await frontDoor({ nodes: [node] });
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' });
  await expect(answer.text()).rejects.toThrow();
});

test('a chunk extension is 400 and reaches no node; chunks without one are framed again', async () => {
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
