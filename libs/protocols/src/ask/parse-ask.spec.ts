import { describe, expect, test } from '@jest/globals';
import { describeRecorded, readFixture, recordings } from '../../test/fixtures.ts';
import { InvalidRequest } from '../exchange.ts';
import { HELLO, parse } from '../../test/read-ask.ts';
import type { ClientProtocol } from '../exchange.ts';
import { parseAsk, parseAskInTurns, parseCountTokens } from './parse-ask.ts';

function refusal(protocol: ClientProtocol, body: unknown): { param: string | null; code: string } {
  try {
    parse(protocol, body);
  } catch (error) {
    if (error instanceof InvalidRequest) return { param: error.param, code: error.code };
    throw error;
  }
  throw new Error('was accepted');
}
describe('parseAsk', () => {
  const chat = { model: 'm', messages: HELLO };
  const messages = { model: 'm', messages: HELLO, max_tokens: 5 };

  test.each<[ClientProtocol, unknown, string | null, string]>([
    ['chat', '{"model":', null, 'invalid_json'],
    ['chat', '[]', null, 'invalid_json'],
    ['chat', '', null, 'invalid_json'],
    [
      'chat',
      '{"model":"a","messages":[{"role":"user","content":"x"}],"model":"b"}',
      'model',
      'duplicate_field',
    ],
    ['chat', { messages: HELLO }, 'model', 'missing_required_parameter'],
    ['chat', { model: 7, messages: HELLO }, 'model', 'invalid_value'],
    ['chat', { model: 'm' }, 'messages', 'missing_required_parameter'],
    ['chat', { model: 'm', messages: 'hi' }, 'messages', 'invalid_value'],
    ['chat', { model: 'm', messages: [] }, 'messages', 'invalid_value'],
    [
      'chat',
      { model: 'm', messages: [{ content: 'x' }] },
      'messages[0].role',
      'missing_required_parameter',
    ],
    [
      'chat',
      { model: 'm', messages: [{ role: 'user', content: 5 }] },
      'messages[0].content',
      'invalid_value',
    ],
    [
      'chat',
      { model: 'm', messages: [...HELLO, { role: 'user', content: [{ text: 'x' }] }] },
      'messages[1].content[0].type',
      'missing_required_parameter',
    ],
    ['chat', { ...chat, temperature: 2.1 }, 'temperature', 'invalid_value'],
    ['chat', { ...chat, temperature: -0.1 }, 'temperature', 'invalid_value'],
    ['chat', { ...chat, temperature: '1' }, 'temperature', 'invalid_value'],
    ['chat', { ...chat, stream: 'yes' }, 'stream', 'invalid_value'],
    ['chat', { ...chat, stop: 5 }, 'stop', 'invalid_value'],
    ['messages', { model: 'm', messages: HELLO }, 'max_tokens', 'missing_required_parameter'],
    ['messages', { ...messages, temperature: 3 }, 'temperature', 'invalid_value'],
    ['messages', { ...messages, system: 5 }, 'system', 'invalid_value'],
    [
      'messages',
      { ...messages, messages: [{ role: 'user' }] },
      'messages[0].content',
      'missing_required_parameter',
    ],
    ['embeddings', { model: 'm' }, 'input', 'missing_required_parameter'],
    ['embeddings', { model: 'm', input: [1, 'a'] }, 'input[0]', 'invalid_value'],
    ['embeddings', { model: 'm', input: [-1] }, 'input[0]', 'invalid_value'],
    ['embeddings', { model: 'm', input: '' }, 'input', 'invalid_value'],
    ['embeddings', { model: 'm', input: [] }, 'input', 'invalid_value'],
    ['embeddings', { model: 'm', input: ['a', ''] }, 'input[1]', 'invalid_value'],
    ['responses', { model: 'm' }, 'input', 'missing_required_parameter'],
  ])('%s refuses %j and names %s', (protocol, body, param, code) => {
    expect(refusal(protocol, body)).toEqual({
      param:
        protocol === 'embeddings' && param === 'input[0]'
          ? expect.stringContaining('input')
          : param,
      code,
    });
  });

  // S26
  test.each([['max_tokens'], ['max_completion_tokens'], ['n']])(
    'S26: %s that is huge, negative, a fraction or a text is refused',
    (field) => {
      for (const value of [-1, 0, 1.5, '5', 2 ** 53, 1e308, true, []])
        expect(refusal('chat', { ...chat, [field]: value }).param).toBe(field);
    },
  );

  test('S26: with both limits set the larger one sizes the hold', () => {
    expect(
      parse('chat', { ...chat, max_tokens: 10, max_completion_tokens: 65_536 }).outputLimit,
    ).toBe(65_536);
    expect(parse('chat', { ...chat, max_tokens: null }).outputLimit).toBeNull();
    expect(parse('chat', { ...chat, n: 3 }).choices).toBe(3);
  });

  test('S34: __proto__ and constructor in a body change no prototype', () => {
    const body =
      '{"model":"m","messages":[{"role":"user","content":"x","__proto__":{"polluted":1}}],"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
    parse('chat', body);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test('refuses bodies nested so deep that walking them would overflow the stack', () => {
    expect(
      refusal('chat', `{"model":"m","messages":${'['.repeat(50_000)}${']'.repeat(50_000)}}`).code,
    ).toBe('invalid_json');
  });

  test.each([
    ['numbers for messages', '{"model":"m","messages":[', '0', 900_000, ']}'],
    [
      'numbers for parts',
      '{"model":"m","messages":[{"role":"user","content":[',
      '0',
      900_000,
      ']}]}',
    ],
    [
      'more values than any request',
      '{"model":"m","messages":[{"role":"user","content":"x"}],"x":[',
      '[]',
      600_000,
      ']}',
    ],
    [
      'more fields than any request',
      '{"model":"m","messages":[{"role":"user","content":"x"}],',
      '"x":0',
      100_000,
      '}',
    ],
  ])('refuses %s in megabytes without describing each one', (_name, open, unit, count, close) => {
    const before = process.memoryUsage.rss();
    expect(refusal('chat', open + Array<string>(count).fill(unit).join(',') + close).code).toMatch(
      /^invalid_/,
    );
    expect(process.memoryUsage.rss() - before).toBeLessThan(400e6);
  });

  test('refuses bytes that are no UTF-8', () => {
    const body = Buffer.from(
      JSON.stringify({ model: 'm', messages: [{ role: 'user', content: '~' }] }),
    );
    expect(parseAsk('chat', body).model).toBe('m');
    body[body.indexOf('~')] = 0xff;
    expect(() => parseAsk('chat', body)).toThrow('not valid JSON');
  });

  test('behaviour 4: role "system" inside messages is accepted, as text and as blocks', () => {
    const system = {
      role: 'system',
      content: [{ type: 'text', text: 'be brief', cache_control: { type: 'ephemeral' } }],
      output_config: { effort: 'low' },
    };
    expect(
      parse('messages', {
        ...messages,
        messages: [...HELLO, system, { role: 'system', content: 'x' }],
      }).prompt.messageCount,
    ).toBe(3);
  });

  test('behaviour 7: unknown fields, parts, tools and roles pass', () => {
    const body = {
      ...chat,
      messages: [{ role: 'weird', content: [{ type: 'new_part', x: 1 }], y: [] }],
      tools: [{ type: 'new_tool' }],
      context_management: {},
      fallbacks: 3,
    };
    expect(parse('chat', body).body).toEqual(body);
  });

  test('behaviour 31: embeddings take a string, strings, tokens and lists of tokens', () => {
    const bytesOf = (input: unknown): number =>
      parse('embeddings', { model: 'm', input }).prompt.textBytes;
    expect([
      bytesOf('héllo'),
      bytesOf(['ab', 'c']),
      bytesOf([1, 50_000, 3]),
      bytesOf([[1, 2], [3]]),
    ]).toEqual([6, 3, 3, 3]);
  });

  test('embeddings are no stream, whatever the body says', () => {
    expect(parse('embeddings', { model: 'm', input: 'x', stream: true }).isStream).toBe(false);
  });

  test('count_tokens takes a messages body without max_tokens', () => {
    expect(
      parseCountTokens('messages', Buffer.from(JSON.stringify({ model: 'm', messages: HELLO })))
        .model,
    ).toBe('m');
    expect(() => parseCountTokens('messages', Buffer.from('{"model":"m"}'))).toThrow('messages');
  });
});

describeRecorded('recorded requests', () => {
  test.each(
    recordings(({ requestFile }) => requestFile !== null).map(({ requestFile, protocol }) => [
      requestFile ?? '',
      protocol,
    ]),
  )('the request in %s is parsed', (file, protocol) => {
    const raw = readFixture(file);
    if (protocol === 'count_tokens') expect(parseCountTokens('messages', raw).model).not.toBe('');
    else if (protocol === 'chat' || protocol === 'messages' || protocol === 'embeddings') {
      const ask = parseAsk(protocol, raw);
      expect(ask.prompt.textBytes).toBeGreaterThan(0);
      expect(Buffer.byteLength(ask.prompt.text())).toBeGreaterThan(0);
    }
  });
});

test('a body that is read in turns is read alike, and refused alike, with a pause after each pass over it', async () => {
  const turns = { taken: 0 };
  const pause = (): Promise<void> => {
    turns.taken += 1;
    return Promise.resolve();
  };
  const raw = Buffer.from(JSON.stringify({ model: 'm', messages: HELLO, max_tokens: 7 }));
  const { prompt, ...whole } = parseAsk('chat', raw);
  const { prompt: promptInTurns, ...inTurns } = await parseAskInTurns('chat', raw, { pause });
  expect(inTurns).toEqual(whole);
  expect({ ...promptInTurns, text: promptInTurns.text() }).toEqual({
    ...prompt,
    text: prompt.text(),
  });
  // The four turns are scan, JSON, fields and schema.
  expect(turns.taken).toBe(4);
  for (const bad of ['{', '[]', '{"model":"m","model":"n"}', '{"model":"m","max_output_tokens":1}'])
    await expect(parseAskInTurns('chat', Buffer.from(bad), { pause })).rejects.toThrow(
      InvalidRequest,
    );
});
