import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ContinuedReader } from './continued-reader.ts';
import { deliveredOf } from './delivered.ts';
import {
  type Client,
  CHARGED,
  askOf,
  data,
  named,
  streamOf,
  readerOf,
  cutAfter,
  continueWith,
  obedient,
  read,
  words,
  upstreamProtocol,
} from '../../test/continued-streams.ts';

describe.each(['chat', 'messages'] as const)('a %s stream that is continued', (client) => {
  test('reads as one answer, whatever both upstreams speak and wherever the first one broke off', () => {
    fc.assert(
      fc.property(
        words,
        words,
        upstreamProtocol,
        upstreamProtocol,
        (more, after, first, second) => {
          const before = ['Once upon ', ...more];
          const ask = askOf(client);
          const { text, delivered } = cutAfter(ask, first, before);
          const rest = continueWith(
            ask,
            { delivered, upstreamProtocol: second },
            streamOf(second, obedient(before.join(''), after), { id: 'second', output: 9 }),
          );
          expect(read(client, text + rest)).toEqual({
            text: before.join('') + after.join(''),
            ids: [expect.any(String)],
            roles: ['assistant'],
            ends: [client === 'chat' ? 'stop' : 'end_turn'],
            output: CHARGED.output + 9,
          });
          expect(rest.startsWith(': ')).toBe(true);
          expect(rest.includes('[DONE]')).toBe(client === 'chat');
        },
      ),
    );
  });

  test('may be cut and continued again', () => {
    const ask = askOf(client);
    const { text, delivered } = cutAfter(ask, 'openai', ['one and ']);
    const again = continueWith(
      ask,
      { delivered, upstreamProtocol: 'anthropic' },
      streamOf('anthropic', obedient('one and ', ['two, ', 'and ']), { id: 'second' }),
    );
    const said = Buffer.from(delivered.observe(Buffer.from(again))).toString();
    expect(delivered.text).toBe('one and two, and ');
    const rest = continueWith(
      ask,
      { delivered, upstreamProtocol: 'openai' },
      streamOf('openai', obedient(delivered.text, ['three']), { id: 'third', output: 1 }),
    );
    expect(read(client, text + said + rest)).toMatchObject({
      text: 'one and two, and three',
      roles: ['assistant'],
    });
  });

  test.each(['openai', 'anthropic'] as const)(
    'may call a tool in its rest, from an upstream of protocol %s',
    (second) => {
      const ask = askOf(client);
      const { text, delivered } = cutAfter(ask, 'anthropic', ['let me look']);
      const rest = continueWith(
        ask,
        { delivered, upstreamProtocol: second },
        streamOf(second, obedient('let me look', [' it up']), {
          id: 'second',
          output: 3,
          calls: true,
        }),
      );
      expect(read(client, text + rest)).toMatchObject({
        text: 'let me look it up',
        ends: [client === 'chat' ? 'tool_calls' : 'tool_use'],
      });
    },
  );

  test.each(['openai', 'anthropic'] as const)(
    'is not continued once a tool is called, from an upstream of protocol %s',
    (first) => {
      const ask = askOf(client);
      const delivered = deliveredOf(ask);
      const reader = readerOf(ask, first);
      const bytes = reader.push(Buffer.from(streamOf(first, ['x'], { id: 'a', calls: true })));
      delivered?.observe(bytes);
      expect(delivered?.canBeContinued).toBe(false);
    },
  );

  test('is not continued before its first word, nor after its finish', () => {
    const ask = askOf(client);
    expect(deliveredOf(ask)?.canBeContinued).toBe(false);
    const { delivered } = cutAfter(ask, 'openai', ['x']);
    expect(delivered.canBeContinued).toBe(true);
    const finish =
      client === 'chat'
        ? data({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
        : named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: {} });
    delivered.observe(Buffer.from(finish));
    expect(delivered.canBeContinued).toBe(false);
  });
});

test('two calls in the rest of a message have blocks of their own, each begun and ended once', () => {
  const ask = askOf('messages');
  const { text, delivered } = cutAfter(ask, 'anthropic', ['let me look']);
  const call = (index: number): string =>
    named('content_block_start', {
      index,
      content_block: { type: 'tool_use', id: `t${index}`, name: 'f', input: {} },
    }) + named('content_block_stop', { index });
  const second = streamOf('anthropic', obedient('let me look', [' it up']), {
    id: 'second',
    output: 3,
  });
  const at = second.indexOf('event: message_delta');
  const rest = continueWith(
    ask,
    { delivered, upstreamProtocol: 'anthropic' },
    second.slice(0, at) + call(1) + call(2) + second.slice(at),
  );
  const indexes = (type: string): number[] =>
    [...(text + rest).matchAll(new RegExp(`"type":"${type}".*?"index":(\\d+)`, 'g'))].map(
      ([, index]) => Number(index),
    );
  expect([indexes('content_block_start'), indexes('content_block_stop')]).toEqual([
    [0, 1, 2],
    [0, 1, 2],
  ]);
});

describe('what is not continued', () => {
  test.each<[Client, object]>([
    ['chat', { response_format: { type: 'json_object' } }],
    ['chat', { n: 2 }],
    ['chat', { reasoning_effort: 'low' }],
    ['chat', { logprobs: true }],
    ['chat', { stream: false }],
    ['messages', { output_config: { format: { type: 'json_schema', schema: {} } } }],
    ['messages', { thinking: { type: 'enabled', budget_tokens: 50 } }],
    ['messages', { thinking: { type: 'adaptive' } }],
    [
      'messages',
      {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: '{' },
        ],
      },
    ],
  ])('%s %j', (client, more) => {
    expect(deliveredOf(askOf(client, more))).toBeNull();
  });

  test.each([
    ['thinking', { reasoning_content: 'hm' }],
    ['a refusal', { refusal: 'no' }],
    ['a part that is no text', { content: [{ type: 'thinking', thinking: 'hm' }] }],
  ])('is no chat answer with %s', (_what, delta) => {
    const delivered = deliveredOf(askOf('chat'));
    delivered?.observe(
      Buffer.from(data({ id: 'a', choices: [{ index: 0, delta: { content: 'x' } }] })),
    );
    delivered?.observe(Buffer.from(data({ id: 'a', choices: [{ index: 0, delta }] })));
    expect(delivered?.canBeContinued).toBe(false);
  });

  test('is no message with thinking', () => {
    const delivered = deliveredOf(askOf('messages'));
    const block = { type: 'thinking', thinking: '', signature: '' };
    delivered?.observe(
      Buffer.from(
        named('content_block_start', { index: 0, content_block: block }) +
          named('content_block_stop', { index: 0 }) +
          named('content_block_start', { index: 1, content_block: { type: 'text', text: 'x' } }),
      ),
    );
    expect(delivered?.canBeContinued).toBe(false);
  });
});

test('an answer that finds no room keeps nothing, and gives back what it had', () => {
  const event = Buffer.from(data({ id: 'a', choices: [{ index: 0, delta: { content: 'x' } }] }));
  let free = 2 * event.byteLength;
  const room = {
    take: (bytes: number) => bytes <= free && (free -= bytes) >= 0,
    giveBack: (bytes: number) => (free += bytes),
  };
  const keep = (events: number) => {
    const delivered = deliveredOf(askOf('chat'), { room });
    for (let at = 0; at < events; at += 1) delivered?.keep(event);
    return delivered;
  };
  expect([keep(3)?.canBeContinued, free]).toEqual([false, 2 * event.byteLength]);
  const kept = keep(2);
  expect([kept?.canBeContinued, kept?.text, free]).toEqual([true, 'xx', 0]);
  kept?.drop();
  kept?.keep(event);
  expect([kept?.canBeContinued, free]).toEqual([false, 2 * event.byteLength]);
});

test('what the second upstream thinks first is dropped', () => {
  const ask = askOf('messages');
  const { text, delivered } = cutAfter(ask, 'anthropic', ['one and ']);
  const thinking = { type: 'thinking', thinking: '', signature: '' };
  const stream = [
    named('message_start', { message: { id: 'x', content: [], usage: { input_tokens: 1 } } }),
    named('content_block_start', { index: 0, content_block: thinking }),
    named('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } }),
    named('content_block_stop', { index: 0 }),
    named('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
    named('content_block_delta', { index: 1, delta: { type: 'text_delta', text: 'and two' } }),
    named('content_block_stop', { index: 1 }),
    named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 8 } }),
    named('message_stop', {}),
  ].join('');
  const rest = continueWith(ask, { delivered, upstreamProtocol: 'anthropic' }, stream);
  expect(rest).not.toContain('hm');
  expect(read('messages', text + rest)).toMatchObject({ text: 'one and two', output: 14 });
});

test.each([
  ['chat', 'openai', data({ choices: [{ index: 0, delta: { reasoning_content: 'hm' } }] })],
  [
    'messages',
    'anthropic',
    named('message_start', { message: { id: 'x', content: [], usage: { input_tokens: 1 } } }) +
      named('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '' } }),
  ],
] as const)(
  'an answer to %s that is asked for again and thinks first is refused: its thoughts would be paid and not delivered',
  (client, upstream, thought) => {
    const { delivered } = cutAfter(askOf(client), upstream, ['one']);
    const options = { rid: 'r', delivered, anchor: 'one', charged: CHARGED };
    const [again, rest] = [true, false].map((isWhole) => {
      const reader = new ContinuedReader(readerOf(askOf(client), upstream), {
        ...options,
        isWhole,
      });
      reader.push(Buffer.from(thought));
      return reader.isRefused;
    });
    expect([again, rest]).toEqual([true, false]);
  },
);

test('a continuation that is cut at the limit ends in its protocol, its open block closed', () => {
  const ask = askOf('messages');
  const { text, delivered } = cutAfter(ask, 'openai', ['one']);
  const options = { rid: 'r', delivered, anchor: 'one', isWhole: false, charged: CHARGED };
  const reader = new ContinuedReader(readerOf(ask, 'openai'), options);
  const rest = Buffer.from(reader.finishEarly({ ...CHARGED, output: 8 })).toString();
  expect(read('messages', text + rest)).toMatchObject({ ends: ['max_tokens'], output: 8 });
});
