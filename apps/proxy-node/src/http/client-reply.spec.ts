import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { ClientReply } from './client-reply.ts';

/** Is more than the system's own buffers take for a client that does not read. */
const BODY = Buffer.alloc(32 * 1024 * 1024, 'x');

const STALL_MS = 30_000;

let server: Server;
let client: Socket;
// Sockets are real; the clock that judges the client goes only when a test says so.
beforeEach(() => {
  jest.useFakeTimers({
    doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'],
  });
});
afterEach(async () => {
  jest.useRealTimers();
  client.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

interface Answered {
  outgoing: ServerResponse;
  isClosed: boolean;
}

/** Starts a client that has sent its request and reads nothing yet, and gives its answer. */
async function answeredWith(answer: (reply: ClientReply) => void): Promise<Answered> {
  const answered = Promise.withResolvers<Answered>();
  server = createServer((_incoming, outgoing: ServerResponse) => {
    const state = { outgoing, isClosed: false };
    outgoing.on('close', () => (state.isClosed = true));
    answer(new ClientReply(outgoing, { rid: 'r', stallMs: STALL_MS }));
    answered.resolve(state);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  client.pause();
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  return answered.promise;
}

/** Counts the bytes of the answer that the system has not taken. */
function waitingBytes({ outgoing: { socket } }: Answered): number {
  const { _handle: handle } = socket as unknown as { _handle: { writeQueueSize: number } };
  return handle.writeQueueSize;
}

/** Time passes in small steps until the answer is closed; `meanwhile` is what the client does. */
async function untilClosed(
  answered: Answered,
  meanwhile: () => void = () => undefined,
): Promise<{ isWhole: boolean }> {
  while (!answered.isClosed) {
    jest.advanceTimersByTime(STALL_MS / 10);
    meanwhile();
    await nextTurn();
  }
  return { isWhole: answered.outgoing.writableFinished };
}

test('a client that never reads its whole answer is cut', async () => {
  const answered = await answeredWith((reply) => reply.send(200, BODY));
  expect(await untilClosed(answered)).toEqual({ isWhole: false });
});

test('a client that stops reading at the very end of its stream is cut', async () => {
  const answered = await answeredWith((reply) => {
    reply.startStream();
    reply.endWith(BODY);
  });
  expect(await untilClosed(answered)).toEqual({ isWhole: false });
});

test('a client that reads nothing is cut although it goes on sending', async () => {
  const answered = await answeredWith((reply) => reply.send(200, BODY));
  const send = (): void => void client.write('GET / HTTP/1.1\r\nhost: x\r\nx: ');
  expect(await untilClosed(answered, send)).toEqual({ isWhole: false });
});

test('an answer that is ended twice is ended once', async () => {
  const failures: unknown[] = [];
  const { outgoing } = await answeredWith((reply) => {
    reply.startStream();
    reply.endWith(Buffer.from('all'));
    reply.endWith(Buffer.alloc(0));
  });
  outgoing.on('error', (error) => failures.push(error));
  await nextTurn();
  expect(failures).toEqual([]);
  expect(outgoing.writableEnded).toBe(true);
});

test('a client gets every byte of a stream and of its end', async () => {
  const parts = ['first', 'more of it', 'the end'];
  const [first = '', more = '', end = ''] = parts;
  await answeredWith((reply) => {
    reply.startStream();
    reply.write(Buffer.from(first));
    reply.write(Buffer.from(more));
    reply.endWith(Buffer.from(end));
  });
  let raw = '';
  client.setEncoding('latin1').on('data', (text: string) => (raw += text));
  client.resume();
  while (!raw.endsWith('\r\n0\r\n\r\n')) await nextTurn();
  const [, body = ''] = raw.split('\r\n\r\n');
  // Each chunk has a line with its length before it: https://www.rfc-editor.org/rfc/rfc9112#name-chunked-transfer-coding
  const chunks = body.split('\r\n').filter((_, at) => at % 2 === 1);
  expect(chunks.join('')).toBe(parts.join(''));
});

test('a client that reads slowly gets all of it, however long that takes', async () => {
  const answered = await answeredWith((reply) => reply.send(200, BODY));
  client.on('data', () => client.pause());
  for (
    let left = waitingBytes(answered), reads = 0;
    reads < 10;
    reads += 1, left = waitingBytes(answered)
  ) {
    for (; waitingBytes(answered) === left; await nextTurn()) client.resume();
    jest.advanceTimersByTime(STALL_MS * 0.9);
  }
  expect(waitingBytes(answered)).toBeGreaterThan(0);
  expect(answered.isClosed).toBe(false);
  client.removeAllListeners('data');
  client.on('data', () => undefined).resume();
  while (!answered.isClosed) await nextTurn();
  expect(answered.outgoing.writableFinished).toBe(true);
});
