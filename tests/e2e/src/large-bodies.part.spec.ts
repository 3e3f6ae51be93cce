import { describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { letPass } from '@tollgate/harness';
import { anthropic, chat, key, openai, originOf, say } from './official-sdks-under-test.ts';

describe('a body over the limit', () => {
  const tooLarge = say('x'.repeat(33 * 1024 * 1024));

  test.each(['front door', 'first node'] as const)(
    'is 413 in both SDKs through the %s, so that they do not send it again',
    async (path) => {
      await expect(
        openai(path).chat.completions.create({ model: chat.name, messages: tooLarge }),
      ).rejects.toMatchObject({ status: 413, code: 'request_too_large' });
      await expect(
        anthropic(path).messages.create({ model: chat.name, max_tokens: 5, messages: tooLarge }),
      ).rejects.toMatchObject({ status: 413, type: 'request_too_large' });
    },
  );

  test('is 413 while the client is still sending, whose connection then serves its next request', async () => {
    const paths = ['front door', 'first node'] as const;
    const answers = await Promise.all(
      paths.map((path) => slowUpload(new URL('/v1/chat/completions', originOf(path)))),
    );
    const served = { status: 413, next: 404, isSameConnection: true };
    expect(answers).toEqual([served, served]);
  });

  test('is 413 at the administration interface through the front door', async () => {
    const { status } = await fetch(`${originOf('front door')}/admin-api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'x'.repeat(33 * 1024 * 1024) }),
    });
    expect(status).toBe(413);
  });
});

/** Sends a chunked body over the limit, goes on for a second after the answer, ends it, and asks for a path that does not exist on the same connection. */
async function slowUpload(
  url: URL,
): Promise<{ status: number | undefined; next: number | undefined; isSameConnection: boolean }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const options = {
    agent,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  };
  const upload = httpRequest(url, { ...options, method: 'POST' });
  const answer = once(upload, 'response') as Promise<[IncomingMessage]>;
  const piece = Buffer.alloc(1024 * 1024, ' ');
  for (let sent = 0; sent < 33; sent++) if (!upload.write(piece)) await once(upload, 'drain');
  const [response] = await answer;
  response.resume();
  for (let rest = 0; rest < 10; rest++) {
    await letPass(100, 'the client goes on slowly after its answer');
    upload.write(piece);
  }
  upload.end();
  await once(upload, 'close');
  const after = httpRequest(new URL('/v1/no-such-path', url), options).end();
  const [next] = (await once(after, 'response')) as [IncomingMessage];
  next.resume();
  agent.destroy();
  return {
    status: response.statusCode,
    next: next.statusCode,
    isSameConnection: after.reusedSocket,
  };
}
