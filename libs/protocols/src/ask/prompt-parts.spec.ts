import { expect, test } from '@jest/globals';
import { imageSize } from './image-size.ts';
import { promptParts } from './prompt-parts.ts';

const PNG = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
  Buffer.from([0, 0, 0, 200, 0, 0, 0, 100, 8, 2, 0, 0, 0]),
]).toString('base64');
const JPEG = Buffer.from(`ffd8ffe000040000ffc000110800640190${'00'.repeat(12)}`, 'hex').toString(
  'base64',
);
const GIF = Buffer.from('474946383961c8006400', 'hex').toString('base64');
const SIZE = { width: 200, height: 100 };

test('the size of an image is read from its head', () => {
  expect(imageSize(PNG)).toEqual(SIZE);
  expect(imageSize(GIF)).toEqual(SIZE);
  expect(imageSize(JPEG)).toEqual({ width: 400, height: 100 });
  for (const other of ['', 'AAAA', 'JVBERi0xLjQ=']) expect(imageSize(other)).toBeNull();
});

test('a messages prompt is taken apart', () => {
  const pdf = Buffer.from('%PDF-1.4 /Type /Pages /Type /Page /Type/Page x').toString('base64');
  const body = {
    system: [{ type: 'text', text: 'sys' }],
    tools: [{ name: 'f', input_schema: {} }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
          { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
          { type: 'document', source: { type: 'base64', data: pdf } },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', name: 'f', input: { a: 1 } }] },
      { role: 'user', content: [{ type: 'tool_result', content: { degrees: 20 } }] },
    ],
  };
  expect(promptParts('messages', body)).toEqual({
    texts: ['sys', 'hi', '{"degrees":20}'],
    tools: ['{"name":"f","input_schema":{}}'],
    calls: ['f {"a":1}'],
    messages: 4,
    images: [SIZE, null],
    pages: 2,
  });
});

test('so are chat and responses prompts', () => {
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
  const chat = {
    tools: [{ type: 'function', function: { name: 'f' } }],
    messages: [
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }],
      },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', content: 'done' },
    ],
  };
  expect(promptParts('chat', chat)).toMatchObject({
    texts: ['done'],
    tools: ['{"name":"f"}'],
    calls: ['f {}'],
    messages: 3,
    images: [SIZE],
  });
  const responses = {
    instructions: 'sys',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      { type: 'function_call', name: 'f', arguments: '{}' },
      { type: 'function_call_output', output: 'done' },
    ],
  };
  expect(promptParts('responses', responses)).toMatchObject({
    texts: ['sys', 'hi', 'done'],
    calls: ['f {}'],
    messages: 4,
  });
});

test('thinking counts in the turn that goes on, once, and not in earlier ones', () => {
  const turn = (words: string) => ({
    role: 'assistant',
    content: '',
    reasoning: words,
    reasoning_content: words,
  });
  const user = { role: 'user', content: 'u' };
  const result = { role: 'tool', content: 'r' };
  const texts = (messages: object[]) => promptParts('chat', { messages }).texts.filter(Boolean);
  expect(texts([user, turn('one'), result])).toEqual(['u', 'one', 'r']);
  expect(texts([user, turn('one'), result, turn('two'), user])).toEqual(['u', 'r', 'u']);
  expect(texts([user, turn('one'), user, turn('two'), result])).toEqual(['u', 'u', 'two', 'r']);
});
