import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { normalUsage, type NormalUsage } from './expected-usage.ts';
import type { Loose } from './event-text.ts';

/** Holds what an answer says, in one vocabulary, as the official SDK of its protocol understands it. */
export interface Reading {
  text: string;
  /** Holds what a refusing chat model says beside its text. */
  refusal: string;
  thinking: string;
  /** `args` is null where the arguments are no JSON object (cut off by a limit). */
  tools: { name: string; args: unknown }[];
  /** Is stop, tool_calls, length or content_filter; null where the answer gives none. */
  finish: string | null;
  usage: NormalUsage | null;
}

type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface ReadOptions {
  fetch: Fetch;
  baseUrl: string;
  apiKey: string;
  body: Record<string, unknown>;
}

export async function readChat({ fetch, baseUrl, apiKey, body }: ReadOptions): Promise<Reading> {
  const client = new OpenAI({
    baseURL: `${baseUrl}/v1`,
    apiKey,
    fetch,
    maxRetries: 0,
    logLevel: 'off',
  });
  const answer: Loose = await client.chat.completions.create(body as Loose);
  if (body['stream'] !== true)
    return chatReading(answer.choices[0].message, answer.choices[0].finish_reason, answer.usage);
  return readChunks(answer);
}

/** Reads with the SDK's own helper, which is strict about roles, indexes and endings; it serves answers of the gateway. */
export async function readChatStrictly({
  fetch,
  baseUrl,
  apiKey,
  body,
}: ReadOptions): Promise<Reading> {
  if (body['stream'] !== true) return readChat({ fetch, baseUrl, apiKey, body });
  const client = new OpenAI({
    baseURL: `${baseUrl}/v1`,
    apiKey,
    fetch,
    maxRetries: 0,
    logLevel: 'off',
  });
  const stream = client.chat.completions.stream(body as Loose);
  // Fields it does not know it replaces instead of adding them up.
  let thinking = '';
  stream.on(
    'chunk',
    (chunk: Loose) => (thinking += chunk.choices[0]?.delta.reasoning_content ?? ''),
  );
  const answer: Loose = await stream.finalChatCompletion();
  const [choice] = answer.choices;
  return chatReading(
    { ...choice.message, reasoning_content: thinking },
    choice.finish_reason,
    answer.usage,
  );
}

async function readChunks(chunks: AsyncIterable<Loose>): Promise<Reading> {
  const message: Loose = { content: '', reasoning_content: '', refusal: '', tool_calls: [] };
  let finish: string | null = null;
  let usage: Loose = null;
  for await (const chunk of chunks) {
    const choice = (chunk.choices ?? []).find(({ index = 0 }: Loose) => index === 0);
    usage = chunk.usage ?? chunk.x_groq?.usage ?? choice?.usage ?? usage;
    if (!choice) continue;
    const said = contentOf(choice.delta ?? {});
    message.content += said.text;
    message.reasoning_content += said.thinking;
    message.refusal += choice.delta?.refusal ?? '';
    const legacy = choice.delta?.function_call ? [{ function: choice.delta.function_call }] : [];
    for (const call of choice.delta?.tool_calls ?? legacy) addCall(message.tool_calls, call);
    finish ??= choice.finish_reason || null;
  }
  return chatReading(message, finish, usage);
}

/** Adds by index; a new id and name under an index whose arguments are whole is another call. */
function addCall(calls: Loose[], { index = 0, id, function: fn = {} }: Loose): void {
  const known = calls.findLast((call: Loose) => call.index === index);
  const args =
    typeof fn.arguments === 'object' && fn.arguments !== null
      ? JSON.stringify(fn.arguments)
      : (fn.arguments ?? '');
  const isNew =
    !known ||
    (fn.name &&
      id &&
      known.id &&
      id !== known.id &&
      (known.function.arguments === '' || objectOf(known.function.arguments) !== null));
  if (isNew) calls.push({ index, id, function: { name: fn.name ?? '', arguments: args } });
  else {
    known.function.arguments += args;
    known.function.name ||= fn.name ?? '';
  }
}

function chatReading(message: Loose, finish: string | null, usage: Loose): Reading {
  const { text, thinking } = contentOf(message);
  const calls = message.tool_calls?.length
    ? message.tool_calls
    : message.function_call
      ? [{ function: message.function_call }]
      : [];
  const tools = calls.map(({ function: fn }: Loose) => ({
    name: fn.name,
    args: objectOf(fn.arguments || '{}'),
  }));
  const refusal = message.refusal || '';
  return {
    text,
    refusal,
    thinking,
    tools,
    finish: refusal ? 'content_filter' : chatFinish(finish, tools.length > 0),
    usage: normalUsage('chat', usage),
  };
}

function chatFinish(finish: string | null, hasTools: boolean): string | null {
  if (finish === null || finish === undefined || finish === '') return null;
  const known =
    finish === 'function_call'
      ? 'tool_calls'
      : finish === 'model_length'
        ? 'length'
        : ['stop', 'tool_calls', 'length', 'content_filter'].includes(finish)
          ? finish
          : 'stop';
  return known === 'stop' && hasTools ? 'tool_calls' : known;
}

/** Returns arguments as an object: empty and null ones take none; null when they are no object. */
function objectOf(args: unknown): unknown {
  if (typeof args === 'object') return args ?? {};
  try {
    const value: unknown = JSON.parse(String(args).trim() || '{}');
    return typeof value === 'object' && !Array.isArray(value) ? (value ?? {}) : null;
  } catch {
    return null;
  }
}

function contentOf(message: Loose): { text: string; thinking: string } {
  const beside = message.reasoning_content || message.reasoning || '';
  if (!Array.isArray(message.content)) return { text: message.content ?? '', thinking: beside };
  const parts: Loose[] = message.content;
  const thought = (thinking: Loose): string =>
    typeof thinking === 'string'
      ? thinking
      : (thinking ?? []).map((part: Loose) => part.text ?? '').join('');
  const thoughts = parts
    .filter(({ type }) => type === 'thinking')
    .map(({ thinking }) => thought(thinking));
  return {
    text: parts
      .filter(({ type }) => type === 'text')
      .map(({ text }) => text)
      .join(''),
    thinking: thoughts.join('') || beside,
  };
}

const FINISH: Readonly<Record<string, string>> = {
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
};

export async function readMessages({
  fetch,
  baseUrl,
  apiKey,
  body,
}: ReadOptions): Promise<Reading> {
  const client = new Anthropic({ baseURL: baseUrl, apiKey, fetch, maxRetries: 0, logLevel: 'off' });
  const { stream, ...rest } = body;
  const message: Loose =
    stream === true
      ? await client.messages.stream(rest as Loose).finalMessage()
      : await client.messages.create(rest as Loose);
  const tools = message.content
    .filter((block: Loose) => block.type === 'tool_use')
    .map(({ name, input }: Loose) => ({ name, args: input }));
  const joined = (type: string, field: string): string =>
    message.content
      .filter((block: Loose) => block.type === type)
      .map((block: Loose) => block[field] ?? '')
      .join('');
  return {
    text: joined('text', 'text'),
    refusal: '',
    thinking: joined('thinking', 'thinking'),
    tools,
    finish: message.stop_reason
      ? chatFinish(FINISH[message.stop_reason] ?? 'stop', tools.length > 0)
      : null,
    usage: normalUsage('messages', message.usage),
  };
}
