import { expect, test } from '@jest/globals';
import { readMessagesUsage } from './anthropic/messages-usage.ts';
import { readChatUsage } from './openai/chat-usage.ts';
import { readResponsesUsage } from './openai/responses-usage.ts';

const CHAT = { prompt_tokens: 10, completion_tokens: 5 };
const MESSAGES = { input_tokens: 10, output_tokens: 5 };
const call = (action: unknown, status = 'completed'): object => ({
  type: 'web_search_call',
  status,
  action,
});

test('searches are read wherever a provider reports them, and a figure that is no count is none', () => {
  const messages = (requests: unknown) =>
    readMessagesUsage({ ...MESSAGES, server_tool_use: { web_search_requests: requests } });
  expect(messages(3)?.searches).toBe(3);
  for (const broken of [-1, 1.5, '2', null, {}]) expect(messages(broken)?.searches).toBe(0);
  for (const fields of [
    { server_tool_use: { web_search_requests: 2 } },
    { server_side_tool_usage_details: { web_search_calls: 2 } },
    { num_search_queries: 2 },
  ])
    expect(readChatUsage({ ...CHAT, ...fields })?.searches).toBe(2);
  expect(readChatUsage(CHAT)?.searches).toBe(0);
});

test('a response reports its searches as a number or as items; pages that it opened are none', () => {
  const output = [
    call({ type: 'search', query: 'a' }),
    call({ type: 'open_page', url: 'https://a' }),
    call({ type: 'find_in_page' }),
    call(undefined),
    call({ type: 'search' }, 'failed'),
    { type: 'message' },
  ];
  expect(readResponsesUsage({ usage: MESSAGES, output })?.searches).toBe(2);
  const counted = { web_search: { num_requests: 1 } };
  expect(readResponsesUsage({ usage: MESSAGES, output, tool_usage: counted })?.searches).toBe(1);
});
