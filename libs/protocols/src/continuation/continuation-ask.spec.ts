import { describe, expect, test } from '@jest/globals';
import type { UpstreamProtocol } from '@tollgate/contracts';
import { askOf } from '../../test/continued-streams.ts';
import { exchangeOf } from '../../test/drive.ts';
import { records, type JsonRecord } from '../json/json-guard.ts';
import { takesPrefill } from '../providers/create-exchange.ts';
import { continuationAsk } from './continuation-ask.ts';

describe('the request for the rest', () => {
  const DELIVERED = 'one two three four five\n';
  const bodyFor = (upstreamModel: string, more: object = {}): JsonRecord[] => {
    const continuation = continuationAsk(askOf('messages', more), {
      delivered: DELIVERED,
      upstreamProtocol: 'anthropic',
      upstreamModel,
    });
    return records(continuation?.ask.body['messages']);
  };
  const INSTRUCTION = expect.stringMatching(
    /begin with the words at the end.*\n\nthree four five$/s,
  );
  const NOTE = { type: 'text', text: INSTRUCTION };
  const IMAGE = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };

  test.each<[string, object, JsonRecord[]]>([
    ['a text', {}, [{ role: 'user', content: [{ type: 'text', text: 'hi' }, NOTE] }]],
    [
      'parts',
      { messages: [{ role: 'user', content: [IMAGE] }] },
      [{ role: 'user', content: [IMAGE, NOTE] }],
    ],
    [
      'no message of the user',
      { messages: [{ role: 'system', content: 'be kind' }] },
      [
        { role: 'system', content: 'be kind' },
        { role: 'user', content: INSTRUCTION },
      ],
    ],
  ])(
    'is a prefill that ends before the anchor where the model takes one, and names the anchor behind %s',
    (_what, more, before) => {
      expect(bodyFor('claude-sonnet-4-5', more)).toEqual([
        ...before,
        { role: 'assistant', content: 'one two' },
      ]);
    },
  );

  test.each<[UpstreamProtocol, string, boolean]>([
    ['anthropic', 'claude-sonnet-4-5', true],
    ['anthropic', 'claude-opus-4-6', false],
    ['bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', true],
    ['bedrock', 'us.anthropic.claude-opus-4-6-v1', false],
    ['bedrock', 'meta.claude-3-haiku', false],
    ['openai', 'claude-sonnet-4-5', false],
  ])('from an upstream of protocol %s and model %s is a prefill: %s', (protocol, model, takes) => {
    expect(takesPrefill({ protocol }, { upstream_model: model })).toBe(takes);
  });

  test.each([['claude-opus-4-6'], ['another-model']])('is an instruction for %s', (model) => {
    expect(bodyFor(model).slice(1)).toEqual([
      { role: 'assistant', content: DELIVERED },
      { role: 'user', content: INSTRUCTION },
    ]);
  });

  test('is an instruction for every chat upstream, also of a chat client', () => {
    const continuation = continuationAsk(askOf('chat'), {
      delivered: 'one',
      upstreamProtocol: 'openai',
      upstreamModel: 'claude-sonnet-4-5',
    });
    const body = continuation?.ask.body ?? {};
    const exchange = exchangeOf('chat', 'openai', body);
    expect(Buffer.from(exchange.requestBody).toString()).toContain(
      '"role":"assistant","content":"one"',
    );
    expect(records(body['messages']).at(-1)?.['role']).toBe('user');
  });

  test('is not made for a text without an anchor', () => {
    const rest = { upstreamProtocol: 'openai', upstreamModel: 'real' } as const;
    expect(continuationAsk(askOf('chat'), { delivered: 'a', ...rest })).toBeNull();
  });
});
