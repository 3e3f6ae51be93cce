import type { ClientProtocol } from '../exchange.ts';

/** Which error shape a path speaks; paths of neither protocol speak OpenAI's. */
export type ErrorShape = Extract<ClientProtocol, 'chat' | 'messages'>;

/** `path` without its query. */
export function errorShapeOf(path: string): ErrorShape {
  return path === '/v1/messages' || path.startsWith('/v1/messages/') ? 'messages' : 'chat';
}
