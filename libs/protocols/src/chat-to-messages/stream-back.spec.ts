import { NO_USAGE } from '@tollgate/contracts';
import { describe, expect, test } from '@jest/globals';
import { drive, jsonEvents, RID, wireEvents } from '../../test/drive.ts';
import {
  plain,
  withUsage,
  event,
  START,
  open,
  delta,
  close,
  end,
  TEXT,
  deltas,
} from '../../test/message-pieces.ts';

describe('messages -> chat stream', () => {
  test('text: a role first, then content, a finish and [DONE]; no named event', () => {
    const { text, reader, generated } = drive(plain(), START + TEXT + end('end_turn'), [13]);
    expect(deltas(text)).toEqual([
      { role: 'assistant', content: '' },
      { content: 'hel' },
      { content: 'lo' },
      {},
    ]);
    expect(jsonEvents(text).at(-1)).toMatchObject({
      choices: [{ finish_reason: 'stop', index: 0 }],
    });
    expect(text).not.toContain('event:');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(text).toContain('\n\n: keep-alive\n\n');
    expect([reader.state, generated]).toEqual(['finished', 'hello']);
  });

  test('behaviour 22: every chunk has one id, created and model, the model being the alias', () => {
    const events = jsonEvents(drive(withUsage(), START + TEXT + end('end_turn')).text);
    expect(
      new Set(
        events.map(({ id, created, model, object }) => `${id} ${created} ${model} ${object}`),
      ),
    ).toEqual(
      new Set([
        `chatcmpl-${RID.replaceAll('-', '')} ${Math.floor(0x0193478e7c00 / 1000)} alias chat.completion.chunk`,
      ]),
    );
  });

  test('behaviours 8, 9, 12: usage is one chunk before [DONE] for who asked, and hidden from who did not', () => {
    const usage = {
      prompt_tokens: 8,
      completion_tokens: 9,
      total_tokens: 17,
      prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    };
    expect(
      jsonEvents(drive(withUsage(), START + TEXT + end('end_turn')).text).at(-1),
    ).toMatchObject({ choices: [], usage });
    const hidden = drive(plain(), START + TEXT + end('end_turn'));
    expect(hidden.text).not.toContain('usage');
    expect(hidden.reader).toMatchObject({
      usage: { input: 5, cacheRead: 3, output: 9 },
      isUsageFinal: true,
    });
  });

  test('thinking becomes reasoning_content, and signed blocks in one delta before the finish', () => {
    const upstream =
      START +
      open(0, '{"type":"thinking","thinking":"","signature":""}') +
      delta(0, '{"type":"thinking_delta","thinking":"hm"}') +
      delta(0, '{"type":"signature_delta","signature":"s"}') +
      close(0) +
      open(1, '{"type":"redacted_thinking","data":"x"}') +
      close(1) +
      TEXT.replaceAll('"index":0', '"index":2') +
      end('end_turn');
    expect(deltas(drive(plain(), upstream).text)).toEqual([
      { role: 'assistant', content: '' },
      { reasoning_content: 'hm' },
      { content: 'hel' },
      { content: 'lo' },
      {
        thinking_blocks: [
          { type: 'thinking', thinking: 'hm', signature: 's' },
          { type: 'redacted_thinking', data: 'x' },
        ],
      },
      {},
    ]);
  });

  test('behaviours 19, 20: tool indexes count tools only, id, type and name come once, and no arguments are {}', () => {
    const tool = (index: number, id: string, input = '{}'): string =>
      open(index, `{"type":"tool_use","id":"${id}","name":"f","input":${input}}`);
    const upstream =
      START +
      TEXT +
      tool(1, 'a') +
      delta(1, '{"type":"input_json_delta","partial_json":""}') +
      delta(1, '{"type":"input_json_delta","partial_json":"{\\"x\\":"}') +
      delta(1, '{"type":"input_json_delta","partial_json":"1}"}') +
      close(1) +
      open(2, '{"type":"server_tool_use","id":"s","name":"web_search","input":{}}') +
      delta(2, '{"type":"input_json_delta","partial_json":"{}"}') +
      close(2) +
      tool(3, 'b') +
      close(3) +
      tool(4, 'c', '{"whole":true}') +
      close(4) +
      end('tool_use');
    const { text } = drive(plain(), upstream);
    const fn = (index: number, id: string): object => ({
      tool_calls: [{ index, id, type: 'function', function: { name: 'f', arguments: '' } }],
    });
    const args = (index: number, given: string): object => ({
      tool_calls: [{ index, function: { arguments: given } }],
    });
    expect(deltas(text).slice(3)).toEqual([
      fn(0, 'a'),
      args(0, '{"x":'),
      args(0, '1}'),
      fn(1, 'b'),
      args(1, '{}'),
      fn(2, 'c'),
      args(2, '{"whole":true}'),
      {},
    ]);
    expect(jsonEvents(text).at(-1)).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] });
  });

  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['something_new', 'stop'],
  ])('stop_reason %s is finish_reason %s', (reason, finish) => {
    expect(jsonEvents(drive(plain(), START + TEXT + end(reason)).text).at(-1)).toMatchObject({
      choices: [{ finish_reason: finish }],
    });
  });

  test('a refusal is content_filter with its explanation', () => {
    const { text, reader } = drive(
      plain(),
      START +
        end(
          'refusal',
          ',"stop_details":{"type":"refusal","category":"cyber","explanation":"Not this."}',
        ),
    );
    expect(deltas(text)).toEqual([
      { role: 'assistant', content: '' },
      { refusal: 'Not this.' },
      {},
    ]);
    expect(jsonEvents(text).at(-1)).toMatchObject({
      choices: [{ finish_reason: 'content_filter' }],
    });
    expect(reader.state).toBe('finished');
  });

  test.each([
    [
      'an error event',
      START +
        TEXT +
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"host-7"}}\n\n' +
        end('end_turn'),
      'overloaded',
    ],
    ['an end without stop reason', START + TEXT, 'upstream_error'],
    ['garbage', START + TEXT + 'data: {{{\n\n' + end('end_turn'), 'upstream_error'],
  ])('behaviour 24: %s is an error event, no [DONE], no finish_reason', (_, upstream, code) => {
    const { text, reader } = drive(plain(), upstream);
    expect(jsonEvents(text).at(-1)).toMatchObject({ error: { type: 'server_error', code } });
    expect(text).not.toMatch(/\[DONE\]|"finish_reason":"|host-7/);
    expect([reader.state, reader.hasContent]).toEqual(['failed', true]);
  });

  test('an end after the stop reason is an end; what follows message_stop is not read', () => {
    expect(
      drive(
        plain(),
        (START + TEXT + end('end_turn')).replace(event('message_stop'), ''),
      ).text.endsWith('[DONE]\n\n'),
    ).toBe(true);
    const twice = drive(
      plain(),
      START + TEXT + end('end_turn') + START + TEXT + end('end_turn'),
    ).text;
    expect(twice.match(/\[DONE\]/g)).toHaveLength(1);
  });

  test('behaviour 34: a JSON message to a stream request becomes a chat stream', () => {
    const message = {
      type: 'message',
      content: [
        { type: 'text', text: 'hello' },
        { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 2, output_tokens: 3 },
    };
    const { text, reader } = drive(plain(), JSON.stringify(message));
    expect(deltas(text).slice(1, 2)).toEqual([{ content: 'hello' }]);
    expect(text).toContain('{\\"x\\":1}');
    expect(reader.usage).toMatchObject({ input: 2, output: 3 });
  });

  test('a stream the gateway must end says length', () => {
    const reader = withUsage().openStream({ output: () => undefined });
    reader.push(
      Buffer.from(
        START +
          open(0, '{"type":"text","text":""}') +
          delta(0, '{"type":"text_delta","text":"hel"}'),
      ),
    );
    const text = Buffer.from(
      reader.finishEarly({ ...NO_USAGE, input: 5, cacheRead: 3, output: 1 }),
    ).toString();
    // The report of message_start is not the end's report: the output must be counted, or it would be free.
    expect([reader.state, reader.isUsageFinal]).toEqual(['finished', false]);
    expect(jsonEvents(text)).toMatchObject([
      { choices: [{ finish_reason: 'length' }] },
      { usage: { prompt_tokens: 8 } },
    ]);
    expect(wireEvents(text).at(-1)?.data).toBe('[DONE]');
  });
});
