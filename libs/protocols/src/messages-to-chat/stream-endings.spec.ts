import { NO_USAGE } from '@tollgate/contracts';
import { describe, expect, test } from '@jest/globals';
import { drive, jsonEvents, wireEvents } from '../../test/drive.ts';
import { checkedBlocks } from '../../test/checked-blocks.ts';
import { plain, chunk, ROLE, HELLO, STOP, DONE, tool } from '../../test/chat-pieces.ts';

describe('the end of a chat -> messages stream', () => {
  const a = { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } };

  test('behaviour 21: stop with tool calls is tool_use', () => {
    expect(
      jsonEvents(
        drive(plain(), ROLE + tool(0, { id: 'a', name: 'f', args: '{}' }) + STOP + DONE).text,
      ).at(-2),
    ).toMatchObject({ delta: { stop_reason: 'tool_use' } });
  });

  test('a refusal is text, stop_reason refusal and its details', () => {
    const { text } = drive(
      plain(),
      chunk({ role: 'assistant', content: '', refusal: 'Not ' }) +
        chunk({ refusal: 'this.' }) +
        STOP +
        DONE,
    );
    expect(checkedBlocks(text)).toEqual([{ type: 'text', text: 'Not this.' }]);
    expect(jsonEvents(text).at(-2)).toMatchObject({
      delta: {
        stop_reason: 'refusal',
        stop_details: { type: 'refusal', explanation: 'Not this.' },
      },
    });
  });

  test("content in the finish chunk counts, a second finish does not, Azure's nameless chunk says nothing", () => {
    const azure = 'data: {"choices":[],"id":"","model":"","prompt_filter_results":[]}\n\n';
    const { text } = drive(
      plain(),
      azure +
        ROLE +
        chunk({ content: 'all' }, 'length') +
        chunk({ content: '' }, 'stop', {
          usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
        }) +
        DONE,
    );
    expect(checkedBlocks(text)).toEqual([{ type: 'text', text: 'all' }]);
    expect(jsonEvents(text).at(-2)).toMatchObject({
      delta: { stop_reason: 'max_tokens' },
      usage: { input_tokens: 1, output_tokens: 2 },
    });
  });

  test('a finish without usage or [DONE] still ends the message', () => {
    expect(wireEvents(drive(plain(), ROLE + HELLO + STOP).text).at(-1)?.name).toBe('message_stop');
    expect(drive(plain(), ROLE + HELLO + DONE).reader.state).toBe('finished');
  });

  test.each([
    [
      'an error event',
      ROLE + HELLO + 'data: {"error":{"code":429,"message":"host-7"}}\n\n' + DONE,
      'rate_limit_error',
    ],
    ['an end before any finish_reason', ROLE + HELLO, 'api_error'],
    ['garbage', ROLE + HELLO + 'data: nope\n\n' + STOP + DONE, 'api_error'],
    ['[DONE] alone', DONE, 'api_error'],
  ])('behaviour 24: %s is an error event, without message_stop', (_, upstream, type) => {
    const { text, reader } = drive(plain(), upstream);
    expect(wireEvents(text).at(-1)?.name).toBe('error');
    expect(jsonEvents(text).at(-1)).toMatchObject({ type: 'error', error: { type } });
    expect(text).not.toMatch(/message_stop|host-7/);
    expect(reader.state).toBe('failed');
  });

  test('behaviour 23: keep-alives are pings, also where the upstream sends comments', () => {
    expect(
      drive(plain(), `: OPENROUTER PROCESSING\n\n${ROLE}${HELLO}${STOP}${DONE}`).text.startsWith(
        'event: ping\ndata: {"type":"ping"}\n\n',
      ),
    ).toBe(true);
  });

  test('behaviour 34: a JSON completion to a stream request becomes a message stream', () => {
    const completion = {
      id: 'c',
      model: 'm',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'hello',
            tool_calls: [
              { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
            ],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    };
    const { text } = drive(plain(), JSON.stringify(completion));
    expect(checkedBlocks(text)).toEqual([{ type: 'text', text: 'hello' }, a]);
    expect(jsonEvents(text).at(-2)).toMatchObject({
      delta: { stop_reason: 'tool_use' },
      usage: { output_tokens: 2 },
    });
  });

  test('a stream the gateway must end closes its blocks and says max_tokens', () => {
    const reader = plain().openStream({ output: () => undefined });
    const before = Buffer.from(
      reader.push(Buffer.from(ROLE + HELLO + tool(0, { id: 'a', name: 'f', args: '{"x"' }))),
    ).toString();
    const after = Buffer.from(reader.finishEarly({ ...NO_USAGE, input: 5, output: 1 })).toString();
    expect(jsonEvents(after)).toMatchObject([
      { type: 'content_block_stop', index: 1 },
      { delta: { stop_reason: 'max_tokens' }, usage: { input_tokens: 5, output_tokens: 1 } },
      { type: 'message_stop' },
    ]);
    expect(before).toContain('"partial_json":"{\\"x\\""');
  });
});
