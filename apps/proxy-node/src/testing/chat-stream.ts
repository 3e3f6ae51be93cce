import type { ServerResponse } from 'node:http';

/** What a chat upstream sends. */
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

export const sse = (response: ServerResponse, headers: Record<string, string> = {}) =>
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
