import { describe, expect, test } from '@jest/globals';
import { askOf, data, named, type Client } from '../../test/continued-streams.ts';
import { deliveredOf, type Delivered } from './delivered.ts';

/** Returns a reader of a stream, and how many bytes it keeps. */
function keeping(client: Client, more: object = {}): { of: Delivered; kept: () => number } {
  let kept = 0;
  const room = {
    take: (bytes: number): boolean => ((kept += bytes), true),
    giveBack: (bytes: number): void => void (kept -= bytes),
  };
  return { of: deliveredOf(askOf(client, more), { room }) as Delivered, kept: () => kept };
}

const chunk = (delta: object): string => data({ id: 'c', choices: [{ index: 0, delta }] });
const call = { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '' } };
const TEXT = { chat: '"tool_calls":[{', messages: 'a "tool_use" block' };
const SAID = {
  chat: chunk({ role: 'assistant', content: TEXT.chat, tool_calls: [] }),
  messages: named('content_block_delta', {
    index: 0,
    delta: { type: 'text_delta', text: TEXT.messages },
  }),
};
const BLOCK = { type: 'tool_use', id: 't', name: 'f', input: {} };
const CALLS: readonly [Client, string, string][] = [
  ['chat', 'compact', chunk({ tool_calls: [call] })],
  ['chat', 'spaced', chunk({ tool_calls: [call] }).replace('"tool_calls":', '"tool_calls": ')],
  ['messages', 'compact', named('content_block_start', { index: 1, content_block: BLOCK })],
];

describe('what a stream keeps', () => {
  test.each(CALLS)('ends with the first tool call: %s, %s', (client, _spelling, event) => {
    const { of, kept } = keeping(client, { tools: [{}] });
    of.keep(Buffer.from(SAID[client]));
    expect([kept(), of.isContinued]).toEqual([Buffer.byteLength(SAID[client]), true]);
    of.keep(Buffer.from(event));
    of.keep(Buffer.from(SAID[client]));
    expect([kept(), of.isContinued, of.canBeContinued]).toEqual([0, false, false]);
  });

  test.each(['chat', 'messages'] as const)('is not ended by a %s text that names one', (client) => {
    const { of, kept } = keeping(client, { tools: [{}] });
    of.keep(Buffer.from(SAID[client]));
    expect([kept() > 0, of.text, of.canBeContinued]).toEqual([true, TEXT[client], true]);
  });

  test('is nothing, and no other upstream writes on, where there is no room', () => {
    const room = { take: () => false, giveBack: () => undefined };
    const of = deliveredOf(askOf('chat'), { room }) as Delivered;
    expect(of.isContinued).toBe(true);
    of.keep(Buffer.from(SAID.chat));
    expect([of.isContinued, of.canBeContinued, of.text]).toEqual([false, false, '']);
  });
});
