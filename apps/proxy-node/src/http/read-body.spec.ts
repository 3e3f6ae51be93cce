import { expect, test } from '@jest/globals';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { ClientGone, readBody } from './read-body.ts';

test('a client that disconnected before its body was requested is not waited for', async () => {
  const incoming = new IncomingMessage(new Socket());
  incoming.headers['content-length'] = '1000000';
  incoming.destroy();
  await expect(
    readBody(incoming, { bytesMax: 2_000_000, take: () => undefined }),
  ).rejects.toBeInstanceOf(ClientGone);
});
