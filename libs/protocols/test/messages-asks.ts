import type { JsonRecord } from '../src/json/json-guard.ts';
import { toChatRequest } from '../src/messages-to-chat/request.ts';

export const HI = { role: 'user', content: 'hi' };

export function translated(body: JsonRecord, upstreamModel = 'gpt-5'): JsonRecord {
  return toChatRequest(
    { model: 'alias', max_tokens: 100, messages: [HI], ...body },
    { upstreamModel, outputLimit: null, outputLimitField: 'max_tokens' },
  );
}

export const use = (id: string, input: object = {}): JsonRecord => ({
  type: 'tool_use',
  id,
  name: 'f',
  input,
});
export const toolCall = (id: string, args = '{}'): JsonRecord => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: args },
});
export const image = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'QUI=' },
};
export const imageUrl = { type: 'image_url', image_url: { url: 'data:image/png;base64,QUI=' } };
