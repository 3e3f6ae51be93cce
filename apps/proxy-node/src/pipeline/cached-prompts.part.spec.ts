import { describe, expect, test } from '@jest/globals';
import { ask, COMPLETION, json, node, upstreamOf } from './pipeline-under-test.ts';

const MESSAGES = [
  { role: 'system', content: 'Answer in verse. '.repeat(300) },
  { role: 'user', content: 'hello' },
];

describe('a long prompt before a host that is not known to use cache keys', () => {
  test.each([
    [true, /^tg-/],
    [undefined, /^none$/],
  ])(
    'gets a derived key as the model says: caches_prompts %s',
    async (caches_prompts, expected) => {
      const upstream = await upstreamOf((response) => json(response, COMPLETION));
      const model = await node.addModel(
        [{ baseUrl: upstream.baseUrl }],
        caches_prompts === undefined ? {} : { caches_prompts },
      );
      const answer = await node.post('/v1/chat/completions', ask(model, { messages: MESSAGES }));
      expect(answer.status).toBe(200);
      const sent = JSON.parse(upstream.requests[0]?.body ?? '{}');
      expect(sent.messages).toEqual(MESSAGES);
      expect(sent.prompt_cache_key ?? 'none').toMatch(expected);
    },
  );
});
