import { client, dataOf, type Shape } from './client.ts';
import { GATEWAY } from '../paths.ts';
import { readEvents } from './events/sse.ts';

export type Protocol = 'openai' | 'anthropic';
export interface Message {
  role: 'user' | 'assistant';
  content: string;
}

/** A call carries these beside its messages; the model decides a setting that is empty. */
export interface CallSettings {
  system: string;
  temperature: number | undefined;
  /** Limits the tokens of output. */
  outputTokens: number;
}

export interface Call extends CallSettings {
  protocol: Protocol;
  secret: string;
  model: string;
  messages: readonly Message[];
  signal: AbortSignal;
  onText: (text: string) => void;
  /** Gets the model's own counts, as they come. */
  onTokens: (tokens: Partial<Tokens>) => void;
}

export interface Tokens {
  input: number;
  output: number;
}

/** Holds what a call led to. */
export interface Outcome {
  requestId: string | undefined;
  /** Says what went wrong in the words of the interface that was called; undefined where nothing did. */
  problem: string | undefined;
}

export const USUAL_SETTINGS: CallSettings = {
  system: '',
  temperature: undefined,
  outputTokens: 1_024,
};

/** Makes a key for a quarter of an hour with the rights of an existing one, or with all: no secret of a key is needed here. */
export function createTemporaryKey(keyId: number | undefined): Promise<Shape<'TemporaryKey'>> {
  return dataOf(
    client.POST('/admin-api/playground/key', {
      body: keyId === undefined ? {} : { key_id: keyId },
    }),
  );
}

/** Makes one call of a real node, as any client makes it, and reads it as it streams. */
export async function callModel(call: Call): Promise<Outcome> {
  const { path, body } = requestOf(call);
  const response = await fetch(`${GATEWAY}${path}`, {
    method: 'POST',
    credentials: 'omit',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${call.secret}` },
    body: JSON.stringify(body),
    signal: call.signal,
  });
  const requestId = response.headers.get('x-request-id') ?? undefined;
  if (!response.ok || !response.body)
    return { requestId, problem: problemOf(await response.text(), response.status) };
  let problem: string | undefined;
  for await (const data of readEvents(response.body)) {
    const { text, error, tokens } = partOf(data);
    if (text !== undefined) call.onText(text);
    if (tokens !== undefined) call.onTokens(tokens);
    problem ??= error;
  }
  return { requestId, problem };
}

/** Returns the same request as any client would send it; the same is copied as code. */
export function requestOf({
  protocol,
  model,
  messages,
  system,
  temperature,
  outputTokens,
}: Omit<Call, 'secret' | 'signal' | 'onText' | 'onTokens'>): { path: string; body: object } {
  const asked = { model, stream: true, ...(temperature !== undefined && { temperature }) };
  return protocol === 'openai'
    ? {
        path: '/v1/chat/completions',
        body: {
          ...asked,
          messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...messages],
          stream_options: { include_usage: true },
          max_completion_tokens: outputTokens,
        },
      }
    : {
        path: '/v1/messages',
        body: { ...asked, ...(system !== '' && { system }), messages, max_tokens: outputTokens },
      };
}

interface Part {
  text?: string | undefined;
  error?: string | undefined;
  tokens?: Partial<Tokens> | undefined;
}

/** Returns the text of one event, of either protocol; events of other kinds have none. */
function partOf(data: string): Part {
  if (data === '[DONE]') return {};
  const event = parse(data);
  const delta = at(event, 'choices', '0', 'delta', 'content') ?? at(event, 'delta', 'text');
  const error = at(event, 'error', 'message');
  const tokens = tokensOf(at(event, 'usage') ?? at(event, 'message', 'usage'));
  return {
    ...(typeof delta === 'string' && { text: delta }),
    ...(typeof error === 'string' && { error }),
    ...(tokens !== undefined && { tokens }),
  };
}

/** Reads the usage of either protocol. A count of zero output is only the beginning of an answer. */
function tokensOf(usage: unknown): Partial<Tokens> | undefined {
  const input = at(usage, 'prompt_tokens') ?? at(usage, 'input_tokens');
  const output = at(usage, 'completion_tokens') ?? at(usage, 'output_tokens');
  const tokens = {
    ...(typeof input === 'number' && { input }),
    ...(typeof output === 'number' && output > 0 && { output }),
  };
  return Object.keys(tokens).length === 0 ? undefined : tokens;
}

function problemOf(text: string, status: number): string {
  const message = at(parse(text), 'error', 'message') ?? at(parse(text), 'detail');
  return typeof message === 'string' ? message : `HTTP ${status}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined,
    value,
  );
}
