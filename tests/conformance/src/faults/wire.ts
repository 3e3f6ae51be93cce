import { gzipSync } from 'node:zlib';

export type Speech = 'openai' | 'anthropic';

/** Holds what the upstream reports where it reports the truth; at a price of one a token it is the charge. */
export const REPORTED = { prompt: 7, output: 5 };
export const TEXT = 'one two three four five';

/** Holds the parts of an upstream's answer, to be sent in whole or in pieces. */
export interface AnswerParts {
  json: string;
  /** Holds everything up to and including the text. */
  begin: string;
  /** Holds the reason of the stop; messages report their usage here. */
  finish: string;
  /** Holds the usage of chat, and the end mark. */
  end: string;
  mark: string;
  error: string;
}

/** With a `usage` of null none is reported. */
export function answerParts(
  speech: Speech,
  { usage = usageOf(speech), text = TEXT }: { usage?: object | null; text?: string } = {},
): AnswerParts {
  return speech === 'openai' ? chatParts(usage, text) : messagesParts(usage, text);
}

export function usageOf(
  speech: Speech,
  { prompt, output }: { prompt: unknown; output: unknown } = REPORTED,
): object {
  if (speech === 'anthropic') return { input_tokens: prompt, output_tokens: output };
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens:
      typeof prompt === 'number' && typeof output === 'number' ? prompt + output : output,
  };
}

function chatParts(usage: object | null, content: string): AnswerParts {
  const reported = usage === null ? {} : { usage };
  const head = { id: 'c1', created: 1, model: 'm' };
  const chunk = (choices: unknown[], more: object = {}): string =>
    dataEvent({ ...head, object: 'chat.completion.chunk', choices, ...more });
  const done = 'data: [DONE]\n\n';
  return {
    json: JSON.stringify({
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      ...reported,
    }),
    begin:
      chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]) +
      chunk([{ index: 0, delta: { content }, finish_reason: null }]),
    finish: chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
    end: (usage === null ? '' : chunk([], reported)) + done,
    mark: done,
    error: dataEvent({
      error: { message: 'The engine fell over', type: 'server_error', code: 500 },
    }),
  };
}

function messagesParts(usage: object | null, text: string): AnswerParts {
  const reported = usage === null ? {} : { usage };
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(usage === null ? {} : { usage: { input_tokens: REPORTED.prompt, output_tokens: 1 } }),
  };
  const mark = namedEvent({ type: 'message_stop' });
  return {
    json: JSON.stringify({
      ...message,
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      ...reported,
    }),
    begin:
      namedEvent({ type: 'message_start', message }) +
      namedEvent({
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'text', text: '' },
      }) +
      namedEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    finish:
      namedEvent({ type: 'content_block_stop', index: 0 }) +
      namedEvent({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        ...reported,
      }),
    end: mark,
    mark,
    error: namedEvent({
      type: 'error',
      error: { type: 'api_error', message: 'The engine fell over' },
    }),
  };
}

function dataEvent(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function namedEvent(value: { type: string; [field: string]: unknown }): string {
  return `event: ${value.type}\n${dataEvent(value)}`;
}

/** Writes a response head that leaves the body to the closing of the connection. */
export function head(status = '200 OK', headers: Record<string, string> = {}): string {
  return `HTTP/1.1 ${status}\r\n${Object.entries({ connection: 'close', ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;
}

export const SSE_HEADERS = { 'content-type': 'text/event-stream' };
export const JSON_HEADERS = { 'content-type': 'application/json' };

/** Writes one chunk of the chunked transfer coding. */
export function chunked(body: string): string {
  return `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;
}

export function gzipped(body: string): Buffer {
  return gzipSync(body);
}
