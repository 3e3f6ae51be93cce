import { once } from 'node:events';
import { Agent, createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { endConnectionsOnClose } from './closing-connections.ts';

test('a server that closes during a request ends its connection after the response, whatever the keep-alive time is', async () => {
  const server = createServer({ keepAliveTimeout: 120_000 });
  endConnectionsOnClose(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  const answered = once(get({ port, host: '127.0.0.1', agent }), 'response');
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  const closed = once(server, 'close');
  server.close();
  response.end('whole');
  const [answer] = await answered;
  expect(await text(answer)).toBe('whole');
  await closed;
  agent.destroy();
});
