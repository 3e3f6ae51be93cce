import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll } from '@jest/globals';
import OpenAI from 'openai';
import { startGateway, type Gateway } from '../gateway.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';

const TIMEOUT_MS = 240_000;
export const KEEP_ALIVE_MS = 300;

export let gateway: Gateway;
export let chat: ScriptedUpstream;
export let messages: ScriptedUpstream;
/** These models are behind either upstream. */
export let chatModel: { id: number; name: string };
export let claude: { id: number; name: string };
export let embedding: { id: number; name: string };
/** This model has a route of its own, which rests once its key is refused. */
export let refused: { id: number; name: string };

export const openai = (apiKey = gateway.apiKey): OpenAI =>
  new OpenAI({ baseURL: `${gateway.nodeUrl}/v1`, apiKey, maxRetries: 1 });
export const anthropic = (apiKey = gateway.apiKey): Anthropic =>
  new Anthropic({ baseURL: gateway.nodeUrl, apiKey, maxRetries: 1 });
export const post = (
  path: string,
  body: object | string,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${gateway.nodeUrl}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.apiKey}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
export const HI: { role: 'user'; content: string }[] = [{ role: 'user', content: 'hi' }];

export const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
export const completion = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: USAGE,
};
export const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
};
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
export const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  data({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  });
export const END = `${data({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: USAGE })}data: [DONE]\n\n`;
export const named = (...events: ({ type: string } & Record<string, unknown>)[]): string =>
  events.map((event) => `event: ${event.type}\n${data(event)}`).join('');
export const start = (usage: object): { type: string; message: object } => ({
  type: 'message_start',
  message: { ...message, content: [], stop_reason: null, usage },
});
export const block = (
  index: number,
  content_block: object,
  ...deltas: object[]
): { type: string }[] =>
  [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ] as { type: string }[];
export const stop = (stop_reason: string, usage: object): { type: string }[] => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage } as { type: string },
  { type: 'message_stop' },
];

/** Starts one gateway and its upstreams, which serve all parts; the spec that imports them calls it. */
export function shareGateway(): void {
  beforeAll(async () => {
    [chat, messages] = await Promise.all([ScriptedUpstream.start(), ScriptedUpstream.start()]);
    gateway = await startGateway({ KEEP_ALIVE_MS: String(KEEP_ALIVE_MS) });
    const models = await gateway.addModels([
      { url: chat.url, protocol: 'openai' },
      { url: messages.url, protocol: 'anthropic' },
      { url: chat.url, protocol: 'openai', kind: 'embedding' },
      { url: chat.url, protocol: 'openai' },
    ]);
    [chatModel, claude, embedding, refused] = models as [
      typeof chatModel,
      typeof claude,
      typeof embedding,
      typeof refused,
    ];
  }, TIMEOUT_MS);
  afterAll(async () => {
    await gateway?.stop();
    await Promise.all([chat?.close(), messages?.close()]);
  }, TIMEOUT_MS);
}
