import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { ClientReply } from './client-reply.ts';

/** More than the system's own buffers take for a client that does not read. */
const BODY = Buffer.alloc(32 * 1024 * 1024, 'x');

let server: Server;
let client: Socket;
afterEach(async () => {
  client.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** A client that has sent its request and reads nothing yet, and what became of its answer. */
async function answeredWith(
  answer: (reply: ClientReply) => void,
  stallMs: number,
): Promise<{ closed: Promise<{ isWhole: boolean }> }> {
  const closed = Promise.withResolvers<{ isWhole: boolean }>();
  server = createServer((_incoming, outgoing: ServerResponse) => {
    outgoing.on('close', () => closed.resolve({ isWhole: outgoing.writableFinished }));
    answer(new ClientReply(outgoing, { rid: 'r', stallMs }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  client.pause();
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  return { closed: closed.promise };
}

test('a client that never reads its whole answer is cut', async () => {
  const { closed } = await answeredWith((reply) => reply.send(200, BODY), 300);
  expect(await closed).toEqual({ isWhole: false });
});

test('a client that stops reading at the very end of its stream is cut', async () => {
  const { closed } = await answeredWith((reply) => {
    reply.startStream();
    reply.write(BODY);
    reply.end();
  }, 300);
  expect(await closed).toEqual({ isWhole: false });
});

test('a client that reads nothing is cut although it goes on sending', async () => {
  const { closed } = await answeredWith((reply) => reply.send(200, BODY), 300);
  const sending = setInterval(() => client.write('GET / HTTP/1.1\r\nhost: x\r\nx: '), 50);
  try {
    expect(await Promise.race([closed, delay(3_000, 'still open', { ref: false })])).toEqual({
      isWhole: false,
    });
  } finally {
    clearInterval(sending);
  }
});

test('a client that reads slowly gets all of it, however long that takes', async () => {
  const { closed } = await answeredWith((reply) => reply.send(200, BODY), 1_500);
  let bytes = 0;
  client.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    client.pause();
  });
  for (const until = Date.now() + 4_500; Date.now() < until; await delay(20)) client.resume();
  expect(bytes).toBeLessThan(BODY.length);
  client.removeAllListeners('data');
  client.on('data', () => undefined).resume();
  expect(await closed).toEqual({ isWhole: true });
}, 20_000);
