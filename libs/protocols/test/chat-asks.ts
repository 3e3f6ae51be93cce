import type { JsonRecord } from '../src/json/json-guard.ts';
import { toMessagesRequest } from '../src/chat-to-messages/request.ts';

export const HI = { role: 'user', content: 'hi' };
export const HI_TURN = { role: 'user', content: [{ type: 'text', text: 'hi' }] };

export function translated(
  body: JsonRecord,
  upstreamModel = 'claude-opus-4-6',
  outputLimit: number | null = null,
): JsonRecord {
  return toMessagesRequest(
    { model: 'alias', messages: [HI], ...body },
    { upstreamModel, outputLimit },
  );
}

export const call = (id: string, args: string): JsonRecord => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: args },
});
export const fn = (name: string, more: object = {}): JsonRecord => ({
  type: 'function',
  function: { name, ...more },
});
