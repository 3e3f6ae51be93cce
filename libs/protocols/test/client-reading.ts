import type { Exchange } from '../src/index.ts';
import { readChat, readGenerated, readMessages, type Reading } from './direct-reading.ts';
import { drive, jsonEvents, type Loose } from './drive.ts';
import { HI } from './gemini-client.ts';

/** Names the protocols in which a client can ask for a conversation. */
export const CLIENTS = ['chat', 'messages', 'responses', 'generate'] as const;
export type Client = (typeof CLIENTS)[number];

export const ASKS: Readonly<Record<Client, object>> = {
  chat: { model: 'alias', messages: [{ role: 'user', content: 'hi' }] },
  messages: { model: 'alias', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] },
  responses: { model: 'alias', input: 'hi', store: false },
  generate: HI,
};

/** Holds what a client of one protocol has received: its answer, and the tokens that it is shown on each side. */
export interface Received extends Reading {
  prompt: number;
  output: number;
}

/** Sends an upstream's answer through an exchange, cut at odd places, and reads what the client gets as its SDK would. */
export function received(
  client: Client,
  exchange: Exchange,
  { body, isStream }: { body: Uint8Array; isStream: boolean },
): Received & { charged: unknown } {
  if (isStream) {
    const { text, reader } = drive(exchange, body, [1, 7, 64, 3, 1024]);
    if (reader.state !== 'finished') throw new Error(`${reader.state} ${reader.error?.message}`);
    return { ...readAnswer(client, Buffer.from(text), true), charged: reader.usage };
  }
  const reading = exchange.readJson(body);
  if (reading.kind === 'error') throw new Error(reading.error.message);
  return { ...readAnswer(client, Buffer.from(reading.body), false), charged: reading.usage };
}

function readAnswer(client: Client, bytes: Buffer, isStream: boolean): Received {
  const text = bytes.toString('utf8');
  const events = isStream ? jsonEvents(text) : [];
  if (client === 'chat') {
    const usage = (isStream ? events.findLast(({ usage }) => usage) : JSON.parse(text)).usage;
    const { prompt_tokens: prompt, completion_tokens: output } = usage;
    return { ...readChat(bytes, isStream), prompt, output };
  }
  if (client === 'messages') {
    const message = isStream ? events.findLast(({ type }) => type === 'message_delta') : undefined;
    const { usage } = message ?? JSON.parse(text);
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage;
    return {
      ...readMessages(bytes, isStream),
      prompt: input_tokens + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0),
      output: usage.output_tokens,
    };
  }
  if (client === 'generate') return readGenerated(isStream ? events : [JSON.parse(text)]);
  return readResponse(isStream ? events.at(-1).response : JSON.parse(text));
}

function readResponse(response: Loose): Received {
  const items: Loose[] = response.output;
  const texts = (type: string, part: string, list: string): string =>
    items
      .filter((item) => item.type === type)
      .flatMap((item) => item[list] ?? [])
      .filter((each: Loose) => each.type === part)
      .map((each: Loose) => each.text)
      .join('');
  return {
    text: texts('message', 'output_text', 'content'),
    thinking:
      texts('reasoning', 'reasoning_text', 'content') ||
      texts('reasoning', 'summary_text', 'summary'),
    tools: items
      .filter(({ type }) => type === 'function_call')
      .map(({ name, arguments: args }) => ({ name, args: JSON.parse(args || '{}') })),
    finish: response.status,
    prompt: response.usage.input_tokens,
    output: response.usage.output_tokens,
  };
}
