import { describe, expect, test } from '@jest/globals';
import { describeRecorded, readFixture, recordings } from '../../test/fixtures.ts';
import { InvalidRequest } from '../exchange.ts';
import type { Ask, ClientProtocol } from '../exchange.ts';
import { parseAsk, parseAskInTurns, parseCountTokens } from './parse-ask.ts';

const HELLO = [{ role: 'user', content: 'hi' }];

function parse(protocol: ClientProtocol, body: unknown): Ask {
  return parseAsk(protocol, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
}

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
    expect(() => parseAsk('chat', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toThrow(
      InvalidRequest,
    );
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

describe('prompt facts', () => {
  test('count all text that becomes prompt, but no image bytes', () => {
    const image = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(10_000) },
    };
    const { prompt } = parse('messages', {
      model: 'm',
      max_tokens: 1,
      system: [{ type: 'text', text: 'sys' }],
      messages: [
        {
          role: 'user',
          content: [
            image,
            { type: 'text', text: 'Grüße' },
            { type: 'tool_result', tool_use_id: 't', content: [image] },
          ],
        },
      ],
      tools: [
        { name: 'find', input_schema: { type: 'object', properties: { q: { type: 'string' } } } },
      ],
      metadata: { user_id: 'not in the prompt' },
    });
    expect(prompt.imageCount).toBe(2);
    expect(prompt.textBytes).toBeGreaterThan(Buffer.byteLength('sysGrüßefind'));
    expect(prompt.textBytes).toBeLessThan(300);
    for (const text of ['sys', 'Grüße', 'find', 'q']) expect(prompt.text()).toContain(text);
    expect(prompt.text()).not.toContain('not in the prompt');
  });

  const LONG = 'a long text '.repeat(1_000);
  test.each<[string, 'chat' | 'messages', object]>([
    [
      'a property named type',
      'chat',
      {
        tools: [
          {
            type: 'function',
            function: { name: 'f', parameters: { properties: { type: { description: LONG } } } },
          },
        ],
      },
    ],
    [
      'a schema that calls itself an image',
      'chat',
      {
        tools: [
          {
            type: 'function',
            function: { name: 'f', parameters: { type: 'image_url', description: LONG } },
          },
        ],
      },
    ],
    [
      'a message that calls itself a file',
      'chat',
      { messages: [{ role: 'user', type: 'file', content: LONG }] },
    ],
    ['a type of its own', 'chat', { messages: [{ role: 'user', content: [{ type: LONG }] }] }],
    ['a role of its own', 'chat', { messages: [{ role: LONG, content: '' }] }],
    [
      'a cache control',
      'messages',
      {
        messages: [
          { role: 'user', content: [{ type: 'text', text: '', cache_control: { note: LONG } }] },
        ],
      },
    ],
    [
      'arguments that call themselves a document',
      'messages',
      {
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'tool_use', id: 't', name: 'f', input: { type: 'document', text: LONG } },
            ],
          },
        ],
      },
    ],
    [
      'arguments with a list of images',
      'messages',
      {
        messages: [
          {
            role: 'assistant',
            content: [
              {
                type: 'tool_use',
                id: 't',
                name: 'f',
                input: { content: [{ type: 'image', text: LONG }] },
              },
            ],
          },
        ],
      },
    ],
    [
      'a document of text',
      'messages',
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'document',
                source: { type: 'content', content: [{ type: 'text', text: LONG }] },
              },
            ],
          },
        ],
      },
    ],
    ['documents beside the messages', 'chat', { documents: [{ text: LONG }] }],
  ])('see a long text hidden in %s', (_place, protocol, fields) => {
    const { prompt } = parse(protocol, { model: 'm', max_tokens: 1, messages: HELLO, ...fields });
    expect(prompt.textBytes).toBeGreaterThan(LONG.length);
    expect(prompt.text()).toContain(LONG);
  });

  const sized = (part: object) =>
    parse('chat', { model: 'm', messages: [{ role: 'user', content: [part] }] }).prompt;

  test.each([
    { type: 'image_url', image_url: { url: 'https://x/y.png' } },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
    { type: 'image', source: { type: 'file', file_id: 'f' } },
    { type: 'input_image', file_id: 'f' },
  ])('an image counts as one wherever it lies: %j', (part) => {
    expect(sized(part)).toMatchObject({ imageCount: 1, unboundedInputs: 0 });
  });

  test.each([
    { type: 'file', file: { file_id: 'f' } },
    { type: 'file', file: { file_data: 'data:application/pdf;base64,AA' } },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AA' } },
    { type: 'image_url', image_url: { url: 'data:application/pdf;base64,AA' } },
    { type: 'video_url', video_url: { url: 'https://x/y.mp4' } },
    { type: 'input_audio', input_audio: { data: 'https://x/y.wav', format: 'wav' } },
    { type: 'hologram', at: { place: 'https://x/y.holo' } },
    { type: 'hologram', hologram: { file_id: 'f' } },
  ])('no byte of the request bounds %j', (part) => {
    expect(sized(part)).toMatchObject({ imageCount: 0, unboundedInputs: 1 });
  });

  test('inline audio is bounded by its bytes, which are not text', () => {
    const audio = { type: 'input_audio', input_audio: { data: 'A'.repeat(5_000), format: 'wav' } };
    const { otherBytes, textBytes, unboundedInputs, text } = sized(audio);
    expect(otherBytes).toBeGreaterThan(5_000);
    expect([unboundedInputs, textBytes < 100, text().includes('AAA')]).toEqual([0, true, false]);
  });

  test.each([
    { type: 'text', text: 'see https://x/y' },
    { type: 'tool_use', id: 't', name: 'f', input: { url: 'https://x' } },
    { type: 'web_search_tool_result', content: [{ type: 'web_search_result', url: 'https://x' }] },
    { type: 'new_part', x: 1 },
  ])('an address in a text is text: %j', (part) => {
    expect(sized(part).unboundedInputs).toBe(0);
  });

  test('content that is an object counts as its JSON text, and as the part that some upstreams would take it for', () => {
    const lone = (content: object) =>
      parse('chat', { model: 'm', messages: [{ role: 'tool', content }] }).prompt;
    const result = { type: 'report', text: LONG };
    expect(lone(result).text()).toContain(JSON.stringify(result));
    expect(lone(result)).toMatchObject({ imageCount: 0, unboundedInputs: 0 });
    const inline = { type: 'image_url', image_url: { url: `data:image/png;base64,${LONG}` } };
    expect(lone(inline).imageCount).toBe(1);
    expect(lone(inline).textBytes).toBeGreaterThan(LONG.length);
    expect(lone({ type: 'file', file: { file_id: 'f' } }).unboundedInputs).toBe(1);
    expect(lone({ Type: 'file', file: {} }).unboundedInputs).toBe(1);
    expect(lone({ file_id: 'f' }).unboundedInputs).toBe(1);
  });

  test('stored input that a field names is unbounded, as is an answer in sound that the provider keeps', () => {
    const unbounded = (protocol: ClientProtocol, body: object): number =>
      parse(protocol, { model: 'm', ...body }).prompt.unboundedInputs;
    expect(unbounded('chat', { messages: HELLO, cached_content: 'c' })).toBe(1);
    expect(
      unbounded('chat', { messages: HELLO, extra_body: { google: { cached_content: 'c' } } }),
    ).toBe(1);
    expect(unbounded('chat', { messages: HELLO, mm_processor_kwargs: { max_pixels: 1 } })).toBe(1);
    expect(unbounded('responses', { input: 'x', previous_response_id: 'r' })).toBe(1);
    expect(
      unbounded('chat', { messages: [...HELLO, { role: 'assistant', audio: { id: 'a' } }] }),
    ).toBe(1);
  });

  test('tools of the provider count with the rounds they may run', () => {
    const uses = (protocol: ClientProtocol, body: object): number =>
      parse(protocol, { model: 'm', max_tokens: 1, messages: HELLO, ...body }).prompt
        .serverToolUses;
    const search = { type: 'web_search_20260318', name: 'web_search' };
    expect(uses('messages', { tools: [{ ...search, max_uses: 3 }, { name: 'own' }] })).toBe(3);
    expect(uses('messages', { tools: [search] })).toBe(10);
    for (const max_uses of [0, -5, 0.5, '3', 1e300])
      expect(uses('messages', { tools: [{ ...search, max_uses }] })).toBe(10);
    for (const type of ['custom', 'bash_20250124', 'text_editor_20250728', 'tool_search_tool_bm25'])
      expect(uses('messages', { tools: [{ type, name: 'x' }] })).toBe(0);
    expect(uses('messages', { mcp_servers: [{ type: 'url', url: 'https://x' }] })).toBe(10);
    expect(uses('chat', { web_search_options: {} })).toBe(10);
    expect(uses('chat', { tools: [{ type: 'function', function: { name: 'f' } }] })).toBe(0);
  });

  test('members that no table names are held by their bytes, settings are not', () => {
    const other = (body: object): number =>
      parse('chat', { model: 'm', messages: HELLO, ...body }).prompt.otherBytes;
    expect(other({ temperature: 1, metadata: { note: LONG } })).toBe(0);
    expect(other({ system: LONG })).toBeGreaterThan(LONG.length);
    expect(other({ extra_body: { x: LONG } })).toBeGreaterThan(LONG.length);
  });
});

describeRecorded('recorded requests', () => {
  test.each(
    recordings(({ requestFile }) => requestFile !== null).map(({ requestFile, protocol }) => [
      requestFile ?? '',
      protocol,
    ]),
  )('%s parses', (file, protocol) => {
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
  // Counting values, JSON, members, duplicates, fields, schema.
  expect(turns.taken).toBe(6);
  for (const bad of ['{', '[]', '{"model":"m","model":"n"}', '{"model":"m","max_output_tokens":1}'])
    await expect(parseAskInTurns('chat', Buffer.from(bad), { pause })).rejects.toThrow(
      InvalidRequest,
    );
});
