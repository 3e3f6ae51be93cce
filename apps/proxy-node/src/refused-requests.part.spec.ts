import { describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { issueApiKey } from '@tollgate/contracts';
import { until } from '@tollgate/harness';
import { bodyOf, chat, model, node, upstream } from './testing/answering-node.ts';
import { ACCOUNT_ID } from './testing/node-under-test.ts';

describe('what is refused', () => {
  test('behaviour 2 and 3: errors take the shape of the path and carry both request ids', async () => {
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      const response = await node.post(path, '{"model"');
      expect(response.status).toBe(400);
      const body = await bodyOf(response);
      expect(body).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
      expect(body.request_id).toBe(response.headers.get('request-id'));
      expect(response.headers.get('x-request-id')).toBe(response.headers.get('request-id'));
    }
    const response = await node.post('/v1/chat/completions', '{"model"');
    expect(await bodyOf(response)).toMatchObject({
      error: { type: 'invalid_request_error', param: null },
    });
  });

  test('names the field that is wrong', async () => {
    const response = await node.post('/v1/chat/completions', chat({ temperature: 3 }));
    expect(await bodyOf(response)).toMatchObject({ error: { param: 'temperature' } });
    expect((await node.post('/v1/messages', { ...chat() })).status).toBe(400);
  });

  test('a model that is unknown, unsubscribed or off the shelf is 404, one of another kind or protocol 400', async () => {
    const offShelf = await node.addModel([{ baseUrl: upstream.baseUrl }], { is_on_shelf: false });
    const embedding = await node.addModel([{ baseUrl: upstream.baseUrl }], { kind: 'embedding' });
    for (const name of ['none', offShelf.name, '__proto__']) {
      const response = await node.post('/v1/chat/completions', chat({ model: name }));
      expect([name, response.status]).toEqual([name, 404]);
      expect(await bodyOf(response)).toMatchObject({ error: { code: 'model_not_found' } });
    }
    expect((await node.post('/v1/chat/completions', chat({ model: embedding.name }))).status).toBe(
      400,
    );
  });

  test('S37: a body over the limit is 413, with a length or chunked', async () => {
    const big = JSON.stringify(chat({ padding: 'x'.repeat(200_000) }));
    expect((await node.post('/v1/chat/completions', big)).status).toBe(413);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const outgoing = httpRequest(
        `${node.url}/v1/chat/completions`,
        {
          method: 'POST',
          headers: { authorization: `Bearer ${node.apiKey}`, 'transfer-encoding': 'chunked' },
        },
        (response) => {
          resolve(response.statusCode);
          response.resume();
        },
      );
      outgoing.on('error', reject);
      outgoing.write(big);
      outgoing.end();
    });
    expect(status).toBe(413);
  });

  test('a caller without a valid key is refused before a large body is read or decoded; a customer gets the error in it', async () => {
    const { hostname, port } = new URL(node.url);
    for (const [path, framing] of [
      ['chat/completions', 'content-length: 90000'],
      ['messages', 'transfer-encoding: chunked'],
      ['responses', 'content-length: 20\r\ncontent-encoding: gzip'],
      ['messages/count_tokens', 'content-length: 20'],
    ]) {
      const answerTo = (key: string) =>
        new Promise<string>((resolve, reject) => {
          // The client sends the headers alone: a server that waits for the body does not answer.
          const socket = connect(Number(port), hostname, () =>
            socket.write(
              `POST /v1/${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n${framing}\r\n\r\n`,
            ),
          );
          socket.once('data', (data) => {
            resolve(data.toString().slice(0, 12));
            socket.destroy();
          });
          socket.once('error', reject);
        });
      expect([path, await answerTo(`sk-tg-1-${'A'.repeat(43)}`)]).toEqual([path, 'HTTP/1.1 401']);
    }
    expect(
      (await node.post('/v1/chat/completions', `{"model":"${model.name}",${' '.repeat(70_000)}`))
        .status,
    ).toBe(400);
  });

  test('the slow uploads of one account are refused before they fill the node, others have room meanwhile, and it recovers', async () => {
    const other = issueApiKey(ACCOUNT_ID + 1);
    await node.live.putKey(
      node.keyRecord({ accountId: ACCOUNT_ID + 1, keyHash: other.hash, id: 999 }),
    );
    await node.live.putAccount({
      accountId: ACCOUNT_ID + 1,
      status: 'active',
      drain: false,
      revision: 1,
    });
    const { hostname, port } = new URL(node.url);
    const half = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: ${node.apiKey}\r\ncontent-length: 99000\r\n\r\n${' '.repeat(98_000)}`;
    const answers: string[] = [];
    const sockets = Array.from({ length: 30 }, () =>
      connect(Number(port), hostname).on('error', () => undefined),
    );
    for (const socket of sockets)
      socket.on('data', (data) => answers.push(data.toString().slice(0, 12))).write(half);
    await until('a connection is refused', async () => answers.length > 0);
    expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 429']));
    expect((await node.post('/v1/chat/completions', chat())).status).toBe(200);
    const large = chat({ padding: 'x'.repeat(70_000) });
    expect((await node.post('/v1/chat/completions', large)).status).toBe(429);
    // It has subscribed to nothing: the refusal shows that its body was read.
    expect(
      (await node.post('/v1/chat/completions', large, { authorization: `Bearer ${other.key}` }))
        .status,
    ).toBe(404);
    for (const socket of sockets) socket.destroy();
    await until(
      'memory for bodies is free again',
      async () => (await node.post('/v1/chat/completions', large)).status === 200,
    );
  });

  test('unknown paths are 404, other methods 405, unknown encodings 415', async () => {
    expect((await fetch(`${node.url}/v1/nothing`)).status).toBe(404);
    const wrong = await fetch(`${node.url}/v1/chat/completions`);
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await fetch(`${node.url}/v1/models`, { method: 'DELETE' })).status).toBe(405);
    expect(
      (await node.post('/v1/chat/completions', chat(), { 'content-encoding': 'lzma' })).status,
    ).toBe(415);
  });

  test.each([
    ['GET', '/v1/chat/completions', 'POST'],
    ['GET', '/v1/responses', 'POST'],
    ['PATCH', '/v1/responses/resp_1', 'GET, HEAD, DELETE'],
    ['POST', '/v1/models/a/b', 'GET, HEAD'],
  ])('%s %s is refused with what the path and the node serve', async (method, path, allow) => {
    for (const headers of [{}, { 'anthropic-version': '2023-06-01' }]) {
      const refused = await fetch(`${node.url}${path}`, { method, headers });
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, allow]);
      const { error } = (await refused.json()) as { error: { message: string } };
      expect(error.message).toContain(` is served with ${allow}. Served: `);
      expect(error.message).toContain('POST /v1/chat/completions, POST /v1/messages');
    }
  });

  test('S30: a request with two lengths, or a length and chunks, is refused and its connection closed', async () => {
    const { hostname, port } = new URL(node.url);
    for (const headers of [
      'content-length: 5\r\ncontent-length: 6',
      'content-length: 5\r\ntransfer-encoding: chunked',
      'x-folded: a\r\n b\r\ntransfer-encoding: xchunked',
    ]) {
      const answer = await new Promise<string>((resolve, reject) => {
        const socket = connect(Number(port), hostname, () =>
          socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\nhello`),
        );
        let text = '';
        socket.on('data', (data) => (text += data.toString()));
        socket.on('close', () => resolve(text));
        socket.on('error', reject);
      });
      expect(answer).toMatch(/^HTTP\/1\.1 400/);
    }
  });

  test('a chunk extension is 400 wherever it stands, and nothing goes upstream', async () => {
    const { hostname, port } = new URL(node.url);
    const before = upstream.requests.length;
    const body = JSON.stringify(chat());
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${node.apiKey}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
    const size = body.length.toString(16);
    for (const parts of [
      [`${head}${size};a=b\r\n${body}\r\n0\r\n\r\n`],
      [head, `${size}\r\n${body}\r\n`, '0;a\r\n\r\n'],
    ]) {
      const socket = connect(Number(port), hostname);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      let text = '';
      socket.on('data', (data) => (text += data.toString()));
      const closed = once(socket, 'close');
      for (const part of parts) await new Promise((sent) => socket.write(part, sent));
      await closed;
      expect(text).toMatch(/^HTTP\/1\.1 400/);
    }
    expect(upstream.requests.length).toBe(before);
  });
});
