import { describe, expect, test } from '@jest/globals';
import { drive, exchangeOf } from '../../test/drive.ts';
import { close, delta, deltas, end, open, plain, START } from '../../test/message-pieces.ts';
import { isRecord, record, records, type JsonRecord } from '../json/json-guard.ts';

const SIGNATURE = 'EqQBCkYIBxgCKkDk+/Ab9==';
const THINKING = [
  { type: 'thinking', thinking: 'Look it up: "é" \u2028 first.', signature: SIGNATURE },
  { type: 'redacted_thinking', data: 'EmwKAhgBEgy+/==' },
];
const CALL = { type: 'tool_use', id: 'toolu_1', name: 'f', input: { x: 1 } };
const USER = { role: 'user', content: 'hi' };
const DOCUMENT = {
  type: 'char_location',
  cited_text: 'blue',
  document_index: 1,
  document_title: 'Colours',
  start_char_index: 4,
  end_char_index: 8,
};
const WEB = {
  type: 'web_search_result_location',
  url: 'https://a.example/',
  title: 'A',
  cited_text: 'green',
  encrypted_index: 'E',
};
const RESULTS = {
  type: 'web_search_tool_result',
  tool_use_id: 's',
  content: [
    { type: 'web_search_result', url: 'https://a.example/', title: 'A', encrypted_content: 'x' },
    { type: 'web_search_result', url: 'https://b.example/', title: null, encrypted_content: 'y' },
  ],
};
const SOURCES = [
  { type: 'text', text: 'It is ' },
  RESULTS,
  { type: 'text', text: 'green', citations: [WEB] },
  { type: 'text', text: ' or blue', citations: [DOCUMENT] },
];

function completion(content: readonly object[]): JsonRecord {
  const message = {
    type: 'message',
    content,
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 4 },
  };
  const reading = plain().readJson(Buffer.from(JSON.stringify(message)));
  if (reading.kind !== 'answer') throw new Error('no answer');
  const body: unknown = JSON.parse(Buffer.from(reading.body).toString());
  return record(records(record(body)['choices'])[0]?.['message']);
}

/** Joins deltas as the client for Node does: it keeps the last value of a member it does not know. */
function streamed(content: readonly JsonRecord[]): JsonRecord {
  const upstream = START + content.map(blockEvents).join('') + end('tool_use');
  const message: JsonRecord = {};
  for (const said of deltas(drive(plain(), upstream, [7]).text).filter(isRecord)) {
    const { tool_calls: [call] = [], ...rest } = said as { tool_calls?: JsonRecord[] };
    Object.assign(message, rest);
    if (call?.['id'] === undefined) continue;
    const { name } = record(call['function']);
    Object.assign(message, {
      tool_calls: [{ ...call, function: { name, arguments: '{"x":1}' } }],
    });
  }
  return message;
}

function nameOf(message: JsonRecord): unknown {
  return record(records(message['tool_calls'])[0]?.['function'])['name'];
}

function blockEvents(block: JsonRecord, index: number): string {
  const { type } = block;
  const inner = (value: object): string => delta(index, JSON.stringify(value));
  if (type === 'thinking') {
    const half = String(block['thinking']).length >> 1;
    return (
      open(index, '{"type":"thinking","thinking":"","signature":""}') +
      inner({ type: 'thinking_delta', thinking: String(block['thinking']).slice(0, half) }) +
      inner({ type: 'thinking_delta', thinking: String(block['thinking']).slice(half) }) +
      inner({ type: 'signature_delta', signature: block['signature'] }) +
      close(index)
    );
  }
  if (type !== 'text') return open(index, JSON.stringify(block)) + close(index);
  return (
    open(index, '{"type":"text","text":""}') +
    inner({ type: 'text_delta', text: block['text'] }) +
    records(block['citations'])
      .map((citation) => inner({ type: 'citations_delta', citation }))
      .join('') +
    close(index)
  );
}

function upstreamTurns(assistant: JsonRecord): JsonRecord[] {
  const body = {
    model: 'alias',
    messages: [
      USER,
      { role: 'assistant', ...assistant },
      { role: 'tool', tool_call_id: CALL.id, content: 'done' },
    ],
  };
  const { requestBody } = exchangeOf('chat', 'anthropic', body);
  return records(record(JSON.parse(Buffer.from(requestBody).toString()))['messages']);
}

describe.each([
  ['JSON', completion],
  ['a stream', streamed],
] as const)('a chat answer from Claude in %s', (_, answer) => {
  test('a tool loop returns thinking with its signatures unchanged', () => {
    const message = answer([...THINKING, CALL]);
    expect(message['thinking_blocks']).toEqual(THINKING);
    expect(upstreamTurns(message)[1]).toEqual({ role: 'assistant', content: [...THINKING, CALL] });
  });

  test('an `index` that a client adds to joined entries does not reach Claude', () => {
    const message = answer([...THINKING, CALL]);
    const indexed = records(message['thinking_blocks']).map((block, index) => ({
      index,
      ...block,
    }));
    expect(upstreamTurns({ ...message, thinking_blocks: indexed })[1]).toEqual({
      role: 'assistant',
      content: [...THINKING, CALL],
    });
  });

  test('unsigned thinking is text alone and does not return', () => {
    const message = answer([{ type: 'thinking', thinking: 'hm', signature: '' }, CALL]);
    expect(message).not.toHaveProperty('thinking_blocks');
    expect(upstreamTurns(message)[1]).toEqual({ role: 'assistant', content: [CALL] });
  });

  test('citations and web results are annotations with the span that they support', () => {
    expect(answer(SOURCES)['annotations']).toEqual([
      {
        type: 'url_citation',
        url_citation: { start_index: 6, end_index: 11, url: 'https://a.example/', title: 'A' },
      },
      {
        type: 'file_citation',
        file_citation: {
          start_index: 11,
          end_index: 19,
          index: 1,
          filename: 'Colours',
          quote: 'blue',
          place: { type: 'char_location', start_char_index: 4, end_char_index: 8 },
        },
      },
      {
        type: 'url_citation',
        url_citation: {
          start_index: 6,
          end_index: 6,
          url: 'https://b.example/',
          title: 'https://b.example/',
        },
      },
    ]);
  });

  test('a call without a name has an empty one, as in the other protocols', () => {
    const { name: _, ...nameless } = CALL;
    expect(nameOf(answer([nameless]))).toBe('');
  });

  test('text without sources has no annotations', () => {
    expect(answer([{ type: 'text', text: 'hello' }])).not.toHaveProperty('annotations');
  });
});

test('a document asks for citations in its file part', () => {
  const file = { file_data: 'data:application/pdf;base64,JVBERi0=' };
  const part = { type: 'file', file, citations: { enabled: true } };
  const { requestBody } = exchangeOf('chat', 'anthropic', {
    model: 'alias',
    messages: [{ role: 'user', content: [part] }],
  });
  expect(JSON.parse(Buffer.from(requestBody).toString())).toMatchObject({
    messages: [{ content: [{ type: 'document', citations: { enabled: true } }] }],
  });
});
