import type { ClientProtocol } from '../exchange.ts';

/** Names the error shape of a path; paths of no protocol use OpenAI's. */
export type ErrorShape = Extract<ClientProtocol, 'chat' | 'messages' | 'generate'>;

/** Ends the path of a call of Gemini. */
const METHOD =
  /:(?:generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)$/;

/** `path` has no query. All vendors have a list of models; there a header decides that every client of one vendor sends and no other does. */
export function errorShapeOf(
  path: string,
  headers: Readonly<Record<string, string | string[] | undefined>> = {},
): ErrorShape {
  if (path === '/v1/messages' || path.startsWith('/v1/messages/')) return 'messages';
  const isModels = path === '/v1/models' || path.startsWith('/v1/models/');
  const isGoogles = isModels && (headers['x-goog-api-key'] !== undefined || METHOD.test(path));
  if (isGoogles || path === '/v1beta' || path.startsWith('/v1beta/')) return 'generate';
  return isModels && headers['anthropic-version'] !== undefined ? 'messages' : 'chat';
}
