import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { refuseUnclearFraming } from './request-framing.ts';

const CHUNKED = 'Host: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n';
const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n';

async function answersTo(text: string): Promise<{ statuses: string[]; handled: string[] }> {
  const handled: string[] = [];
  const server = createServer((request, response) => {
    handled.push(request.url ?? '');
    response.end();
  });
  refuseUnclearFraming(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.end(text);
    let read = '';
    for await (const bytes of socket) read += String(bytes);
    return { statuses: read.match(/(?<=HTTP\/1\.1 )\d{3}/g) ?? [], handled };
  } finally {
    server.close();
  }
}

test('HTTP/1.0 with Transfer-Encoding is 400, its connection ends, and nothing behind it is handled', async () => {
  expect(await answersTo(`POST /a HTTP/1.0\r\n${CHUNKED}${HIDDEN}`)).toEqual({
    statuses: ['400'],
    handled: [],
  });
});

test('HTTP/1.1 with chunks, and HTTP/1.0 with a length, are handled', async () => {
  const chunked = await answersTo(`POST /a HTTP/1.1\r\n${CHUNKED}`);
  expect(chunked).toEqual({ statuses: ['200'], handled: ['/a'] });
  const old = await answersTo('POST /b HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}');
  expect(old).toEqual({ statuses: ['200'], handled: ['/b'] });
});
