import type { ClientProtocol } from '../exchange.ts';

/** Names the error shape of a path; paths of neither protocol use OpenAI's. */
export type ErrorShape = Extract<ClientProtocol, 'chat' | 'messages'>;

/** `path` without its query. Both vendors have a list of models: there the header decides that every Anthropic client sends, and no other. */
export function errorShapeOf(
  path: string,
  headers: Readonly<Record<string, string | string[] | undefined>> = {},
): ErrorShape {
  if (path === '/v1/messages' || path.startsWith('/v1/messages/')) return 'messages';
  const isModels = path === '/v1/models' || path.startsWith('/v1/models/');
  return isModels && headers['anthropic-version'] !== undefined ? 'messages' : 'chat';
}
