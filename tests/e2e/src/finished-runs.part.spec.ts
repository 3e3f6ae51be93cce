import { expect, test } from '@jest/globals';
import { wordsUpTo } from '@tollgate/demo-upstream';
import { until } from '@tollgate/harness';
import { startLocalUpstream } from '../../../apps/proxy-node/src/testing/local-upstream.ts';
import { begin, call, charged, native } from './background-under-test.ts';

test.each([
  ['DELETE', ''],
  ['POST', '/cancel'],
])(
  'a response that its provider has finished is charged as reported, though its cancellation would report nothing: %s %s',
  async (method, action) => {
    const done = {
      status: 'completed',
      usage: { input_tokens: 7, output_tokens: 200, total_tokens: 207 },
    };
    const text = { type: 'message', content: [{ type: 'output_text', text: wordsUpTo(20) }] };
    let now: object = { status: 'in_progress', output: [] };
    let isLeftAlone = false;
    const upstream = await startLocalUpstream((reply, _, { method: asked, url }) => {
      if (url?.endsWith('/cancel')) now = { status: 'cancelled', usage: null, output: [text] };
      // Its node asks again only when something happens.
      if (asked === 'GET' && !isLeftAlone) {
        isLeftAlone = true;
        return reply.writeHead(429, { 'retry-after': '60' }).end('{"error":{"message":"slow"}}');
      }
      reply.writeHead(200, { 'content-type': 'application/json' });
      const base = { id: 'resp_1', object: 'response', background: true, model: 'm' };
      return reply.end(JSON.stringify({ ...base, ...now }));
    });
    try {
      const model = await native(upstream.baseUrl);
      const { body } = await begin(model, 'hi');
      await until('its node is left alone', async () => isLeftAlone);
      now = { ...done, output: [text] };
      const path = `/v1/responses/${body.id}`;
      expect((await call('GET', path)).body).toMatchObject({ status: 'completed' });
      expect((await call(method, `${path}${action}`)).status).toBe(200);
      expect(await charged(model)).toBe(207);
    } finally {
      await upstream.close();
    }
  },
  20_000,
);
