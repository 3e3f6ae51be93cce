import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

let node: NodeUnderTest;
const servers: Server[] = [];

beforeAll(async () => {
  node = await startNodeUnderTest();
});
afterEach(() => servers.splice(0).forEach((server) => server.close()));
afterAll(() => node.stop());

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const answer = (content: string): { head: string; body: string } => {
  const body = JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  });
  const fields = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  return { head: `HTTP/1.1 200 OK\r\n${fields}\r\n\r\n`, body };
};
const { head, body } = answer('ok');

/** Answers each whole request of a connection with these pieces, a packet for each. */
async function upstreamThatWrites(pieces: readonly string[]) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.setNoDelay(true));
    let read = '';
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      read += bytes.toString('latin1');
      const end = read.indexOf('\r\n\r\n') + 4;
      if (end < 4 || read.length < end + Number(/content-length: (\d+)/i.exec(read)?.[1])) return;
      read = '';
      void (async () => {
        for (const piece of pieces)
          await new Promise((resolve) =>
            socket.write(piece, 'latin1', () => setImmediate(resolve)),
          );
      })();
    });
  });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}/v1`, sockets };
}

test.each<[string, readonly string[]]>([
  ['a 100 Continue', [CONTINUE, head + body]],
  ['one in the packet of the answer', [CONTINUE + head + body]],
  ['one with fields and without words', ['HTTP/1.1 100 \r\nx: y\r\n\r\n', head + body]],
  ['one of HTTP/1.0', [`HTTP/1.0 100 Continue\r\n\r\n${head}${body}`]],
  ['several, a packet for each byte', [...CONTINUE, ...CONTINUE, ...head, body]],
  [
    '102 and 103 around one',
    [`HTTP/1.1 102 Processing\r\n\r\n${CONTINUE}`, 'HTTP/1.1 103 Early Hints\r\n\r\n', head + body],
  ],
  ['its answer alone, a packet for each byte', [...head, body]],
])('an upstream that sends %s serves, on one connection', async (_, pieces) => {
  const { baseUrl, sockets } = await upstreamThatWrites(pieces);
  const { name } = await node.addModel([{ baseUrl }]);
  for (let turn = 0; turn < 3; turn += 1) {
    const messages = [{ role: 'user', content: 'go' }];
    const response = await node.post('/v1/chat/completions', { model: name, messages });
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining('"content":"ok"'),
    ]);
  }
  expect(sockets.size).toBe(1);
});

test('what a body holds stays, also where a packet begins with it', async () => {
  const content = 'HTTP/1.1 100 Continue\\r\\n\\r\\n';
  const whole = answer('CONTENT');
  const text = whole.body.replace('CONTENT', CONTINUE.replaceAll('\r\n', '\\r\\n'));
  const length = whole.head.replace(/\d+(?=\r\n\r\n)/, String(text.length));
  const at = text.indexOf('HTTP');
  const { baseUrl } = await upstreamThatWrites([length, text.slice(0, at), text.slice(at)]);
  const { name } = await node.addModel([{ baseUrl }]);
  const messages = [{ role: 'user', content: 'go' }];
  const response = await node.post('/v1/chat/completions', { model: name, messages });
  expect(await response.text()).toContain(content);
});
