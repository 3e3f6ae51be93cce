import type { ServerResponse } from 'node:http';

/** Writes one event of a chat upstream. */
export const event = (data: unknown): string =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

const ANSWER = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'real' };

export const chunk = (delta: object, finish: string | null = null): string =>
  event({ ...ANSWER, choices: [{ index: 0, delta, finish_reason: finish }] });

export const usage = (prompt: number, completion: number): string =>
  event({
    ...ANSWER,
    choices: [],
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
    },
  });

export const START = chunk({ role: 'assistant', content: '' });

/** Writes one event of a messages upstream. */
export const named = (data: { type: string } & Record<string, unknown>): string =>
  `event: ${data.type}\n${event(data)}`;

export const messageStart = (inputTokens: number): string =>
  named({
    type: 'message_start',
    message: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'real',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: inputTokens, output_tokens: 1 },
    },
  });

export const messageText = (text: string): string =>
  named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });

export const TEXT_START = named({
  type: 'content_block_start',
  index: 0,
  content_block: { type: 'text', text: '' },
});

export const messageEnd = (outputTokens: number): string =>
  named({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: outputTokens },
  }) + named({ type: 'message_stop' });

/** Writes a whole answer of one text. */
export const messageOf = (text: string, inputTokens: number, outputTokens: number): string =>
  messageStart(inputTokens) +
  TEXT_START +
  messageText(text) +
  named({ type: 'content_block_stop', index: 0 }) +
  messageEnd(outputTokens);

export const sse = (response: ServerResponse, headers: Record<string, string> = {}) =>
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
