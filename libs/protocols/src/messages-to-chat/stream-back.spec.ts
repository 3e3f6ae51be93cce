import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { drive, jsonEvents, RID, wireEvents } from '../../test/drive.ts';
import { checkedBlocks } from '../../test/checked-blocks.ts';
import { plain, chunk, ROLE, HELLO, STOP, USAGE, DONE, tool } from '../../test/chat-pieces.ts';

describe('chat -> messages stream', () => {
  test('behaviours 15, 16: named events, zeros in message_start, usage in message_delta, message_stop at the end and no [DONE]', () => {
    const { text, reader, generated } = drive(plain(), ROLE + HELLO + STOP + USAGE + DONE, [9]);
    const events = jsonEvents(text);
    expect(wireEvents(text).map(({ name }) => name)).toEqual(events.map(({ type }) => type));
    expect(events).toEqual([
      {
        type: 'message_start',
        message: {
          id: `msg_${RID.replaceAll('-', '')}`,
          type: 'message',
          role: 'assistant',
          model: 'alias',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: {
            input_tokens: 0,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
            output_tokens: 0,
          },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: {
          input_tokens: 5,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 3,
          output_tokens: 9,
        },
      },
      { type: 'message_stop' },
    ]);
    expect([reader.state, generated, reader.isUsageFinal]).toEqual(['finished', 'hello', true]);
  });

  test('behaviour 17: thinking has blocks of its own, and the delta that switches blocks is not lost', () => {
    const upstream =
      chunk({ role: 'assistant', reasoning_content: 'h' }) +
      chunk({ reasoning: 'm' }) +
      chunk({ content: 'a', reasoning_content: null }) +
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'again' }] }] }) +
      chunk({ content: [{ type: 'text', text: 'b' }] }) +
      STOP +
      DONE;
    expect(checkedBlocks(drive(plain(), upstream).text)).toEqual([
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'a' },
      { type: 'thinking', text: 'again' },
      { type: 'text', text: 'b' },
    ]);
  });

  const a = { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } };
  const b = { type: 'tool_use', id: 'b', name: 'g', input: { y: [2] } };
  test.each<[string, string, unknown[]]>([
    [
      'in pieces, one after the other',
      tool(0, { id: 'a', name: 'f', args: '' }) +
        tool(0, { args: '{"x"' }) +
        tool(0, { args: ':1}' }) +
        tool(1, { id: 'b', name: 'g', args: '' }) +
        tool(1, { args: '{"y":[2]}' }),
      [a, b],
    ],
    [
      'interleaved by index',
      tool(0, { id: 'a', name: 'f', args: '{"x"' }) +
        tool(1, { id: 'b', name: 'g', args: '{"y"' }) +
        tool(0, { args: ':1}' }) +
        tool(1, { args: ':[2]}' }),
      [a, b],
    ],
    [
      'both begun before any arguments',
      tool(0, { id: 'a', name: 'f' }) +
        tool(1, { id: 'b', name: 'g' }) +
        tool(1, { args: '{"y":[2]}' }) +
        tool(0, { args: '{"x":1}' }),
      [a, b],
    ],
    [
      'whole',
      tool(0, { id: 'a', name: 'f', args: '{"x":1}' }) +
        tool(1, { id: 'b', name: 'g', args: '{"y":[2]}' }),
      [a, b],
    ],
    [
      'whole, all under index 0 (Gemini)',
      tool(0, { id: 'a', name: 'f', args: '{"x":1}' }) +
        tool(0, { id: 'b', name: 'g', args: '{"y":[2]}' }),
      [a, b],
    ],
    [
      'whole, all under index 0 and without ids',
      tool(0, { name: 'f', args: '{"x":1}' }) + tool(0, { name: 'g', args: '{"y":[2]}' }),
      [
        { ...a, id: expect.any(String) },
        { ...b, id: expect.any(String) },
      ],
    ],
    [
      'with index from 1',
      tool(1, { id: 'a', name: 'f', args: '' }) + tool(1, { args: '{"x":1}' }),
      [a],
    ],
    [
      'with id and name repeated',
      tool(0, { id: 'a', name: 'f', args: '{"x"' }) + tool(0, { id: 'a', name: 'f', args: ':1}' }),
      [a],
    ],
    [
      'with an empty name later (Mistral)',
      tool(0, { id: 'a', name: 'f', args: '' }) + tool(0, { name: '', args: '{"x":1}' }),
      [a],
    ],
    [
      'without index, by id',
      tool(undefined, { id: 'a', name: 'f', args: '{"x"' }) +
        tool(undefined, { id: 'b', name: 'g', args: '{"y":[2]}' }) +
        tool(undefined, { id: 'a', args: ':1}' }),
      [a, b],
    ],
    [
      'without index and later id',
      tool(undefined, { id: 'a', name: 'f', args: '{"x"' }) + tool(undefined, { args: ':1}' }),
      [a],
    ],
    ['as an object', tool(0, { id: 'a', name: 'f', args: { x: 1 } }), [a]],
    ['null', tool(0, { id: 'a', name: 'f', args: null }), [{ ...a, input: {} }]],
    [
      'empty',
      tool(0, { id: 'a', name: 'f', args: '' }) +
        tool(1, { id: 'b', name: 'g', args: '{"y":[2]}' }),
      [{ ...a, input: {} }, b],
    ],
    [
      'in one chunk',
      chunk({
        tool_calls: [
          { index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } },
          { index: 1, id: 'b', function: { name: 'g', arguments: '{"y":[2]}' } },
        ],
      }),
      [a, b],
    ],
    [
      'before its name',
      tool(0, { id: 'a', args: '{"x"' }) + tool(0, { name: 'f', args: ':1}' }),
      [a],
    ],
    [
      'as function_call',
      chunk({ function_call: { name: 'f', arguments: '{"x"' } }) +
        chunk({ function_call: { arguments: ':1}' } }),
      [{ ...a, id: expect.any(String) }],
    ],
  ])("behaviours 18, 19: arguments that come %s parse to the upstream's", (_, calls, expected) => {
    const { text } = drive(plain(), ROLE + HELLO + calls + chunk({}, 'tool_calls') + USAGE + DONE);
    expect(checkedBlocks(text)).toEqual([{ type: 'text', text: 'hello' }, ...expected]);
    expect(jsonEvents(text).at(-2)).toMatchObject({ delta: { stop_reason: 'tool_use' } });
  });

  test('behaviour 18: 1 to 5 parallel tools, however their deltas are cut and interleaved, keep their arguments', () => {
    const args = fc.dictionary(
      fc.string(),
      fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes('-0')),
      { maxKeys: 3 },
    );
    fc.assert(
      fc.property(
        fc.array(args, { minLength: 1, maxLength: 5 }),
        fc.array(fc.tuple(fc.nat(4), fc.integer({ min: 1, max: 9 })), { maxLength: 60 }),
        (inputs, turns) => {
          const rest = inputs.map((input) => JSON.stringify(input));
          let upstream = ROLE;
          const begun = new Set<number>();
          const say = (at: number, length: number): void => {
            const piece = rest[at]?.slice(0, length) ?? '';
            rest[at] = rest[at]?.slice(length) ?? '';
            if (piece === '' && begun.has(at)) return;
            upstream += tool(
              at,
              begun.has(at) ? { args: piece } : { id: `t${at}`, name: `f${at}`, args: piece },
            );
            begun.add(at);
          };
          inputs.forEach((_, at) => say(at, 0));
          for (const [at, length] of turns) if (at < inputs.length) say(at, length);
          inputs.forEach((_, at) => say(at, Number.MAX_SAFE_INTEGER));
          const blocks = checkedBlocks(
            drive(plain(), upstream + chunk({}, 'tool_calls') + DONE).text,
          );
          const expected = inputs.map((input, at) => ({
            type: 'tool_use',
            id: `t${at}`,
            name: `f${at}`,
            input: JSON.parse(JSON.stringify(input)),
          }));
          expect(blocks).toEqual(expected);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('text after whole arguments follows them, text amid unfinished ones waits', () => {
    const after = drive(
      plain(),
      ROLE + tool(0, { id: 'a', name: 'f', args: '{"x":1}' }) + HELLO + STOP + DONE,
    ).text;
    expect(checkedBlocks(after)).toEqual([a, { type: 'text', text: 'hello' }]);
    const amid = drive(
      plain(),
      ROLE +
        tool(0, { id: 'a', name: 'f', args: '{"x"' }) +
        HELLO +
        tool(0, { args: ':1}' }) +
        STOP +
        DONE,
    ).text;
    expect(checkedBlocks(amid)).toEqual([a, { type: 'text', text: 'hello' }]);
  });

  test('behaviour 28: odd and missing tool ids reach the client in its form', () => {
    const [odd, missing] = checkedBlocks(
      drive(
        plain(),
        ROLE +
          tool(0, { id: 'call_AbC|weird:id.1', name: 'f', args: '{}' }) +
          tool(1, { name: 'f', args: '{}' }) +
          STOP +
          DONE,
      ).text,
    );
    expect(odd).toMatchObject({ id: expect.stringMatching(/^[a-zA-Z0-9_-]+$/) });
    expect(missing).toMatchObject({ id: expect.stringMatching(/^[a-zA-Z0-9_-]+$/) });
  });

  test.each([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
    ['eos', 'end_turn'],
  ])('finish_reason %s is stop_reason %s', (finish, reason) => {
    expect(
      jsonEvents(drive(plain(), ROLE + HELLO + chunk({}, finish) + DONE).text).at(-2),
    ).toMatchObject({ delta: { stop_reason: reason }, usage: { output_tokens: 0 } });
  });
});
