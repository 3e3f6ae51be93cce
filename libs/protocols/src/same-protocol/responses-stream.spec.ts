import { NO_USAGE } from '@tollgate/contracts';
import { describe, expect, test } from '@jest/globals';
import { drive, exchangeOf, jsonEvents, wireEvents, type Loose } from '../../test/drive.ts';
import type { Exchange, StoredIds } from '../exchange.ts';
import { upstreamError } from '../errors/upstream-error.ts';

const IDS: StoredIds = {
  seal: (id) => `${id}~`,
  open: (id) => (id.endsWith('~') ? id.slice(0, -1) : null),
  isSealed: (id) => /[~^]$/.test(id),
};

function open(body: object = {}): Exchange {
  return exchangeOf(
    'responses',
    'openai',
    { model: 'alias', input: 'hi', stream: true, ...body },
    { speech: { protocol: 'openai', endpoints: ['responses'] }, ids: IDS, outputLimit: 50 },
  );
}

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'in_progress',
  content: [],
};
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 9_007_199_254_740_992,
  model: 'upstream-model',
  status: 'in_progress',
  previous_response_id: 'resp_0',
  conversation: { id: 'conv_1' },
  output: [],
  usage: null,
};
const USAGE = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 8 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 27,
};
const BEGINNING = [
  { type: 'response.created', response: RESPONSE },
  { type: 'response.output_item.added', output_index: 0, item: MESSAGE },
  { type: 'response.content_part.added', item_id: 'msg_1', output_index: 0, content_index: 0 },
  {
    type: 'response.output_text.delta',
    item_id: 'msg_1',
    output_index: 0,
    delta: 'Hel',
  },
  { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, delta: 'lo' },
];
const WHOLE = {
  ...MESSAGE,
  status: 'completed',
  content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
};
const ENDING = [
  { type: 'response.output_item.done', output_index: 0, item: WHOLE },
  {
    type: 'response.completed',
    response: { ...RESPONSE, status: 'completed', output: [WHOLE], usage: USAGE },
  },
];

function wire(events: readonly object[], from = 0): string {
  return events
    .map((event, at) => {
      const value = { ...event, sequence_number: from + at } as Loose;
      return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
    })
    .join('');
}

const stream = wire([...BEGINNING, ...ENDING]).replace('9007199254740992', '9007199254740993');

describe('responses -> responses stream', () => {
  test('only ids and the name of the model change, however the bytes are cut', () => {
    const expected = stream
      .replace(/"((?:msg|resp|conv)_\d)"/g, '"$1~"')
      .replaceAll('"upstream-model"', '"alias"');
    for (const sizes of [[1], [7, 33], [100_000]])
      expect(drive(open(), stream, sizes).text).toBe(expected);
    expect(stream).toContain('9007199254740993');
  });

  test('its text is counted and the usage of its last event is final', () => {
    const { reader, generated } = drive(open(), stream);
    expect(generated).toBe('Hello');
    expect([reader.state, reader.isUsageFinal]).toEqual(['finished', true]);
    expect(reader.usage).toMatchObject({ input: 12, cacheRead: 8, output: 7, reasoning: 3 });
  });

  test.each(['response.incomplete', 'response.failed'])('%s has its usage read too', (type) => {
    const last = { type, response: { ...RESPONSE, status: 'x', usage: USAGE } };
    const { reader, text } = drive(open(), wire([...BEGINNING, last]));
    expect(reader.usage).toMatchObject({ output: 7 });
    expect(reader.isUsageFinal).toBe(true);
    expect(jsonEvents(text).at(-1).type).toBe(type);
    expect(reader.state).toBe(type === 'response.failed' ? 'failed' : 'finished');
  });

  test('before any text a failure leaves room for another upstream', () => {
    const failed = {
      type: 'response.failed',
      response: { ...RESPONSE, error: { code: 'rate_limit_exceeded', message: 'secret words' } },
    };
    const { reader } = drive(open(), wire([BEGINNING[0] as object, failed]));
    expect([reader.hasContent, reader.error?.kind]).toEqual([false, 'rate_limited']);
    const overflow = { type: 'error', code: 'context_length_exceeded', message: 'too long' };
    expect(drive(open(), wire([overflow])).reader.error?.kind).toBe('context_overflow');
  });

  test('a stream that breaks ends as failed, with what was whole and the next number', () => {
    const reader = open().openStream({ output: () => undefined });
    reader.push(Buffer.from(wire([...BEGINNING, ENDING[0] as object])));
    const last = jsonEvents(Buffer.from(reader.fail(upstreamError('server'))).toString()).at(-1);
    expect(last).toMatchObject({
      type: 'response.failed',
      sequence_number: BEGINNING.length + 1,
      response: {
        id: 'resp_1~',
        status: 'failed',
        output: [{ id: 'msg_1~', status: 'completed' }],
      },
    });
    expect(drive(open(), wire(BEGINNING)).reader.state).toBe('failed');
  });

  test('one that meets its limit closes its text and says incomplete, with what is charged', () => {
    const reader = open().openStream({ output: () => undefined });
    reader.push(Buffer.from(wire(BEGINNING)));
    const bytes = reader.finishEarly({ ...NO_USAGE, input: 5, output: 2 });
    const events = jsonEvents(Buffer.from(bytes).toString());
    expect(events.map(({ type }) => type)).toEqual([
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.incomplete',
    ]);
    expect(events.at(-1)).toMatchObject({
      sequence_number: BEGINNING.length + 3,
      response: {
        id: 'resp_1~',
        status: 'incomplete',
        model: 'alias',
        output: [{ id: 'msg_1~', status: 'incomplete', content: [{ text: 'Hello' }] }],
        usage: { input_tokens: 5, output_tokens: 2 },
      },
    });
  });

  test('a call that is not whole is not in the end that the gateway says', () => {
    const call = { id: 'fc_1', type: 'function_call', call_id: 'c', name: 'f', arguments: '' };
    const reader = open().openStream({ output: () => undefined });
    reader.push(
      Buffer.from(
        wire([
          BEGINNING[0] as object,
          { type: 'response.output_item.added', output_index: 0, item: call },
          { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"a"' },
        ]),
      ),
    );
    const events = jsonEvents(Buffer.from(reader.finishEarly(NO_USAGE)).toString());
    expect(events).toMatchObject([{ type: 'response.incomplete', response: { output: [] } }]);
  });

  test('a whole response to a stream request becomes its events', () => {
    const call = { id: 'fc_1', type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    const answer = { ...RESPONSE, status: 'completed', output: [WHOLE, call], usage: USAGE };
    const { text, reader, generated } = drive(open(), JSON.stringify(answer));
    expect([reader.state, generated]).toEqual(['finished', 'Hellof{}']);
    expect(jsonEvents(text).map(({ sequence_number: at }) => at)).toEqual([
      ...jsonEvents(text).keys(),
    ]);
    expect(jsonEvents(text).at(-1)).toMatchObject({
      type: 'response.completed',
      response: { id: 'resp_1~', model: 'alias', output: [{ id: 'msg_1~' }, { id: 'fc_1~' }] },
    });
  });

  test('ids are sealed where the data of an event takes several lines', () => {
    const odd = stream.replace(/"type":"response.created",/, '$&\ndata: ');
    const [first] = wireEvents(drive(open(), odd).text);
    expect(JSON.parse(first?.data ?? '')).toMatchObject({ response: { id: 'resp_1~' } });
    expect(drive(open(), odd).text).not.toContain('"resp_1"');
  });
});

describe('responses -> responses request', () => {
  const sent = (body: object): Loose => JSON.parse(Buffer.from(open(body).requestBody).toString());

  test('says the upstream name of the model and the limit, and opens ids', () => {
    expect(
      sent({
        previous_response_id: 'resp_1~',
        input: [
          { type: 'item_reference', id: 'rs_1~' },
          { type: 'message', id: 'msg_1~', role: 'assistant', content: 'x' },
          { type: 'message', id: 'msg_2^', role: 'assistant', content: 'y' },
          { type: 'message', id: 'msg_own', role: 'user', content: 'z' },
        ],
      }),
    ).toMatchObject({
      model: 'upstream-model',
      max_output_tokens: 50,
      previous_response_id: 'resp_1',
      input: [
        { id: 'rs_1' },
        { id: 'msg_1' },
        { role: 'assistant', content: 'y' },
        { id: 'msg_own' },
      ],
    });
    expect(
      sent({ input: [{ type: 'message', id: 'msg_2^', role: 'user', content: 'y' }] }).input[0],
    ).not.toHaveProperty('id');
  });

  test('lowers a larger limit and leaves a smaller one', () => {
    expect(sent({ max_output_tokens: 900 }).max_output_tokens).toBe(50);
    expect(sent({ max_output_tokens: 20 }).max_output_tokens).toBe(20);
  });
});
