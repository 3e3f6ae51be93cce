import { describe, expect, test } from '@jest/globals';
import { MessagesTap } from '../answers/anthropic/messages-tap.ts';
import { ChatTap } from '../answers/openai/chat-tap.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Returns what a tap counts of one chunk. */
function counted(tap: typeof ChatTap | typeof MessagesTap, chunk: JsonRecord): string {
  let words = '';
  new tap({ output: (text: string) => (words += text) } as never).observe(chunk);
  return words;
}
const chat = (delta: object): string => counted(ChatTap, { choices: [{ index: 0, delta }] });
const messages = (delta: object): string =>
  counted(MessagesTap, { type: 'content_block_delta', index: 0, delta });

describe('text under a name that is not known is counted, as it is delivered', () => {
  test.each([
    ['a name of its own', { thinking: 'so much' }],
    ['beside an empty content', { content: '', thoughts: 'so much' }],
    ['in parts', { thinking_blocks: [{ type: 'thinking', thinking: 'so much', signature: 'x' }] }],
    ['the words of sound', { audio: { id: 'a', data: 'UklGRg', transcript: 'so much' } }],
  ])('of a chat delta: %s', (_, delta) => expect(chat(delta)).toBe('so much'));

  test('beside other words, shorter or longer, in each place once', () => {
    expect(chat({ content: 'a ', thoughts: 'b much' })).toBe('a b much');
    expect(chat({ content: 'so much', thoughts: 'more' })).toBe('so muchmore');
    expect(chat({ content: 'yes', reasoning_details: [{ summary: 'why', text: 'why' }] })).toBe(
      'yeswhy',
    );
    const many = Array.from({ length: 70 }, (_, at) => ({ text: `p${at}` }));
    expect(chat({ content: 'short', reasoning_details: many })).toBe(
      many.map(({ text }) => text).join(''),
    );
  });

  test('of a messages delta', () => {
    expect(messages({ type: 'compaction_delta', content: 'a summary' })).toBe('a summary');
  });
});

describe('what holds no words of the model is not counted', () => {
  test.each([
    ['a role', { role: 'assistant', content: '', refusal: null }],
    ['sources', { annotations: [{ url: 'https://a.example', title: 'found' }] }],
    [
      'a picture',
      { images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }] },
    ],
    ['what is encrypted', { reasoning_details: [{ blob: 'A'.repeat(300) }] }],
  ])('of a chat delta: %s', (_, delta) => expect(chat(delta)).toBe(''));

  test('a text that is repeated under another name counts once', () => {
    const twice = {
      reasoning: 'why',
      reasoning_details: [{ type: 'reasoning.text', text: 'why' }],
    };
    expect(chat(twice)).toBe('why');
  });

  test('of a messages delta: a signature, a source', () => {
    expect(messages({ type: 'signature_delta', signature: 'x' })).toBe('');
    expect(messages({ type: 'citations_delta', citation: { cited_text: 'found' } })).toBe('');
  });
});
