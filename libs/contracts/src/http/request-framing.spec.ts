import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from '@jest/globals';
import { refuseUnclearFraming } from './request-framing.ts';

const HEAD = 'Host: x\r\nTransfer-Encoding: chunked\r\n\r\n';
const CHUNKED = `${HEAD}2\r\n{}\r\n0\r\n\r\n`;
const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n';

/** Each part is sent when the server has read the one before. What was handled counts only with its whole body. */
async function answersTo(
  ...parts: readonly string[]
): Promise<{ statuses: string[]; handled: string[] }> {
  const handled: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes) => (body += String(bytes)));
    request.on('end', () => {
      handled.push(`${request.url}${body && ' '}${body}`);
      response.end();
    });
  });
  refuseUnclearFraming(server);
  const accepted = once(server, 'connection');
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const answer = readAll(socket);
    const [served] = (await accepted) as [Socket];
    let sent = 0;
    for (const part of parts) {
      sent += part.length;
      socket.write(part, 'latin1');
      // Each part is a packet of its own; the server's socket has no event of its own for what its parser reads.
      while (served.bytesRead < sent && !served.destroyed) await delay(1);
    }
    if (!served.destroyed) socket.end();
    return { statuses: (await answer).match(/(?<=HTTP\/1\.1 )\d{3}/g) ?? [], handled };
  } finally {
    server.close();
  }
}

async function readAll(socket: Socket): Promise<string> {
  let read = '';
  socket.on('data', (bytes) => (read += String(bytes)));
  // A server that refuses what is still being sent resets the connection.
  socket.on('error', () => {});
  await once(socket, 'close');
  return read;
}

test('several Host fields are 400, however they are written, and nothing behind them is handled', async () => {
  for (const second of ['Host: x', 'hOST: other'])
    expect(await answersTo(`GET /a HTTP/1.1\r\nHost: x\r\n${second}\r\n\r\n${HIDDEN}`)).toEqual({
      statuses: ['400'],
      handled: [],
    });
  expect((await answersTo(`GET /a HTTP/1.1\r\nHost: x\r\nhosts: y\r\n\r\n`)).handled).toEqual([
    '/a',
  ]);
});

test.each(['GET /a\r\n\r\n', 'GET /a HTTP/0.9\r\n\r\n', 'GET /a HTTP/0.9\r\nHost: x\r\n\r\n'])(
  'HTTP/0.9 is 400, and nothing behind it is handled: %j',
  async (request) => {
    expect(await answersTo(`${request}${HIDDEN}`)).toEqual({ statuses: ['400'], handled: [] });
  },
);

test('HTTP/1.0 with Transfer-Encoding is 400, its connection ends, and nothing behind it is handled', async () => {
  expect(await answersTo(`POST /a HTTP/1.0\r\n${CHUNKED}${HIDDEN}`)).toEqual({
    statuses: ['400'],
    handled: [],
  });
});

test('HTTP/1.1 with chunks, and HTTP/1.0 with a length, are handled', async () => {
  const chunked = await answersTo(`POST /a HTTP/1.1\r\n${CHUNKED}`);
  expect(chunked).toEqual({ statuses: ['200'], handled: ['/a {}'] });
  const old = await answersTo('POST /b HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}');
  expect(old).toEqual({ statuses: ['200'], handled: ['/b {}'] });
});

const REFUSED = { statuses: ['400'], handled: [] };
const post = (path: string, body: string): string => `POST ${path} HTTP/1.1\r\n${HEAD}${body}`;

test('a chunk extension is 400, its connection ends, and nothing behind it is handled', async () => {
  for (const body of ['2;a\r\n{}\r\n0\r\n\r\n', '2;a=b\r\n{}\r\n0\r\n\r\n', '0;a\r\n\r\n'])
    expect(await answersTo(post('/a', body) + HIDDEN)).toEqual(REFUSED);
  const expecting = post('/a', '').replace('Host', 'Expect: 100-continue\r\nHost');
  const asked = await answersTo(expecting, `2;a\r\n{}\r\n0\r\n\r\n${HIDDEN}`);
  expect(asked).toEqual({ statuses: ['100', '400'], handled: [] });
});

test('an extension is found however the request is split into reads', async () => {
  const text = post('/a', '2\r\n{}\r\n1;a\r\n \r\n0\r\n\r\n') + HIDDEN;
  const extension = text.indexOf(';a');
  for (let at = 1; at <= extension + 1; at += 1)
    expect([at, await answersTo(text.slice(0, at), text.slice(at))]).toEqual([at, REFUSED]);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }),
      async (lengths) => {
        const parts: string[] = [];
        for (let [at, turn] = [0, 0]; at <= extension; turn += 1) {
          const length = lengths[turn % lengths.length] as number;
          parts.push(text.slice(at, (at += length)));
        }
        expect(await answersTo(...parts)).toEqual(REFUSED);
      },
    ),
    { numRuns: 20 },
  );
});

test('an extension behind an earlier request of the connection is found', async () => {
  const first = post('/a', '2\r\n{}\r\n0\r\n\r\n');
  const second = post('/b', '1;a\r\n1\r\n0\r\n\r\n');
  expect(await answersTo(first, second)).toEqual({ statuses: ['200', '400'], handled: ['/a {}'] });
  // In the read that ends the first one's head, both are refused: which of the heads in a read just ended is not known.
  for (const at of [20, post('/a', '').length - 2]) {
    const text = first + second + HIDDEN;
    expect(await answersTo(text.slice(0, at), text.slice(at))).toEqual(REFUSED);
  }
  expect(await answersTo(first + second + HIDDEN)).toEqual(REFUSED);
  // The read begins with the rest of a body with a length, which looks like an earlier head and body.
  const decoy = post('/fake', '2\r\n{}\r\n0\r\n\r\n');
  const head = `POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: ${decoy.length}\r\n\r\n`;
  expect((await answersTo(head, decoy + second)).handled).not.toContain('/b 1');
});

test('chunked requests without extensions are handled however they are split, one after another and in one read', async () => {
  const bodies = ['2\r\n{}\r\n0\r\n\r\n', '5\r\n[";"]\r\n2\r\n\r\n\r\n0\r\nx-note: a;b\r\n\r\n'];
  const text = bodies.map((body, index) => post(`/${index}`, body)).join('') + HIDDEN;
  const handled = ['/0 {}', '/1 [";"]\r\n', '/hidden'];
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 120 }), { minLength: 1 }),
      async (lengths) => {
        const parts: string[] = [];
        for (let [at, turn] = [0, 0]; at < text.length; turn += 1)
          parts.push(text.slice(at, (at += lengths[turn % lengths.length] as number)));
        expect(await answersTo(...parts)).toEqual({ statuses: ['200', '200', '200'], handled });
      },
    ),
    { numRuns: 20 },
  );
});
