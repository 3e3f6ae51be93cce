import { describe, expect, test } from '@jest/globals';
import type { MessageCreateParamsNonStreaming } from '@anthropic-ai/sdk/resources/beta/messages/messages';
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import type { ResponseCreateParamsNonStreaming } from 'openai/resources/responses/responses';
import { toMessagesRequest } from '../src/chat-to-messages/request.ts';
import { InvalidRequest } from '../src/exchange.ts';
import { toChatRequest } from '../src/messages-to-chat/request.ts';
import { chatBodyOf } from '../src/responses/request.ts';
import { refuseThread } from '../src/stored/threads.ts';
import { OMISSIONS, type Omission } from '../src/translation/omissions.ts';

/** Has every field of an SDK's own type: one that a later version of the SDK adds is missing here, and the types no longer fit. */
type Every<T> = { readonly [K in keyof T]-?: NonNullable<T[K]> };

const SCHEMA = { type: 'object', properties: {}, required: [], additionalProperties: false };

const CHAT: Every<ChatCompletionCreateParamsNonStreaming> = {
  model: 'm',
  messages: [{ role: 'user', content: 'hi' }],
  stream: false,
  audio: { format: 'wav', voice: 'alloy' },
  frequency_penalty: 0.5,
  function_call: 'auto',
  functions: [{ name: 'f' }],
  logit_bias: { '1': 1 },
  logprobs: true,
  max_completion_tokens: 77,
  max_tokens: 77,
  metadata: { a: 'b' },
  modalities: ['text', 'audio'],
  moderation: { model: 'omni-moderation-latest' },
  n: 2,
  parallel_tool_calls: false,
  prediction: { type: 'content', content: 'x' },
  presence_penalty: 0.5,
  prompt_cache_key: 'k',
  prompt_cache_options: { mode: 'explicit' },
  prompt_cache_retention: '24h',
  reasoning_effort: 'high',
  response_format: { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA } },
  safety_identifier: 's',
  seed: 1,
  service_tier: 'fast',
  stop: ['x'],
  store: true,
  stream_options: { include_usage: true },
  temperature: 0.5,
  tool_choice: 'required',
  tools: [{ type: 'custom', custom: { name: 'c' } }],
  top_logprobs: 2,
  top_p: 0.5,
  user: 'u',
  verbosity: 'low',
  web_search_options: {},
};

/** Names fields that are sent as headers of their own. */
type SentAsHeaders = 'betas' | 'user_profile_id' | 'workspace_id';

const MESSAGES: Every<Omit<MessageCreateParamsNonStreaming, SentAsHeaders>> = {
  model: 'm',
  messages: [{ role: 'user', content: 'hi' }],
  max_tokens: 77,
  stream: false,
  billing_policy: { type: 'billing_policy', bill_to: 'self' },
  cache_control: { type: 'ephemeral', ttl: '1h' },
  compaction: { type: 'summarize' },
  container: 'container_1',
  context_management: { edits: [] },
  diagnostics: {},
  fallback_credit_token: 't',
  fallbacks: 'default',
  inference_geo: 'us',
  mcp_servers: [{ type: 'url', name: 'x', url: 'https://x' }],
  metadata: { user_id: 'u' },
  output_config: { effort: 'high' },
  output_format: { type: 'json_schema', schema: SCHEMA },
  service_tier: 'auto',
  speed: 'fast',
  stop_sequences: ['x'],
  system: 'be brief',
  thinking: { type: 'enabled', budget_tokens: 1_024 },
  thread: { type: 'create' },
  tool_choice: { type: 'any' },
  tools: [{ type: 'web_search_20260318', name: 'web_search' }],
};

const RESPONSES: Every<ResponseCreateParamsNonStreaming> = {
  model: 'm',
  input: 'hi',
  stream: false,
  access_programs: { cyber: 'standard' },
  background: true,
  background_options: { completion_window: '8h', continuation_id: 'c' },
  context_management: [{ type: 'compaction', compact_threshold: 1_000 }],
  conversation: 'conv_1',
  image: { context_compression: 'enabled' },
  include: ['reasoning.encrypted_content'],
  instructions: 'be brief',
  max_output_tokens: 77,
  max_tool_calls: 3,
  metadata: { a: 'b' },
  moderation: { model: 'omni-moderation-latest' },
  parallel_tool_calls: false,
  previous_response_id: 'resp_1',
  prompt: { id: 'pmpt_1' },
  prompt_cache_key: 'k',
  prompt_cache_options: { mode: 'explicit' },
  prompt_cache_retention: '24h',
  reasoning: { effort: 'high' },
  safety_identifier: 's',
  service_tier: 'fast',
  store: true,
  stream_options: { include_obfuscation: false },
  temperature: 0.5,
  text: { format: { type: 'json_schema', name: 'n', schema: SCHEMA } },
  tool_choice: 'required',
  tools: [{ type: 'web_search' }],
  top_logprobs: 2,
  top_p: 0.5,
  truncation: 'auto',
  user: 'u',
};

type Body = Readonly<Record<string, unknown>>;
type Direction = Omission['direction'];

const TOOL = { type: 'function', name: 'f', parameters: SCHEMA };
const CASES: Record<Direction, { every: Body; base: Body; translate: (body: Body) => unknown }> = {
  'chat to messages': {
    every: CHAT,
    base: { model: 'm', messages: CHAT.messages, tools: [{ type: 'function', function: TOOL }] },
    translate: (body) =>
      toMessagesRequest(body, { upstreamModel: 'claude-opus-4-5', outputLimit: null }),
  },
  'messages to chat': {
    every: MESSAGES,
    base: {
      model: 'm',
      max_tokens: 50,
      messages: MESSAGES.messages,
      tools: [{ name: 'f', input_schema: SCHEMA }],
    },
    translate: (body) => {
      refuseThread({ protocol: 'messages', body, serverTools: [], prompt: {} }, {});
      return toChatRequest(body, {
        upstreamModel: 'gpt-5',
        outputLimit: null,
        outputLimitField: 'max_completion_tokens',
      });
    },
  },
  'responses to chat or messages': {
    every: RESPONSES,
    base: { model: 'm', input: 'hi', tools: [TOOL] },
    translate: chatBodyOf,
  },
};
/** Names fields that carry the request itself, and the form of its answer. */
const CARRIERS = new Set(['model', 'messages', 'input', 'stream', 'stream_options']);

describe.each(Object.keys(CASES) as Direction[])('%s', (direction) => {
  const { every, base, translate } = CASES[direction];
  const fields = Object.keys(every).filter((name) => !CARRIERS.has(name));

  test.each(fields)(
    '%s, as the installed SDK has it, is translated, refused by name, or in the table of omissions',
    (name) => {
      const outcome = (): string => {
        try {
          const sent = translate({ ...base, [name]: every[name] });
          return JSON.stringify(sent) === JSON.stringify(translate(base)) ? 'lost' : 'translated';
        } catch (error) {
          if (error instanceof InvalidRequest) return `refused: ${error.param}`;
          throw error;
        }
      };
      const documented = OMISSIONS.filter(
        (each) => each.direction === direction && each.part === 'request',
      ).map(({ feature }) => feature);
      const isDocumented = documented.some((feature) =>
        new RegExp(`\`${name}[\`.:]`).test(feature),
      );
      const found = outcome();
      if (found === 'lost') expect([name, isDocumented]).toEqual([name, true]);
      else expect(found).toMatch(new RegExp(`^translated$|^refused: .*${name}`));
    },
  );
});
