import type { IncomingMessage } from 'node:http';
import type { PathCall } from '@tollgate/protocols';
import type { PathParams } from '../http/router.ts';

/** Clients of Gemini call `v1beta`, and newer ones `v1`: https://ai.google.dev/gemini-api/docs/api-versions. */
const VERSIONS = ['/v1beta', '/v1'] as const;

function callsOf(method: string): string[] {
  return VERSIONS.map((version) => `${version}/models/:model+:${method}`);
}

export const GEMINI_CALLS = {
  generate: callsOf('generateContent'),
  stream: callsOf('streamGenerateContent'),
  count: callsOf('countTokens'),
  embed: callsOf('embedContent'),
  embedBatch: callsOf('batchEmbedContents'),
} as const;

/** Lists calls that reach a model, and the protocol that their bodies speak. */
export const GEMINI_ROUTES = (
  [
    ['generate', 'generate'],
    ['stream', 'generate'],
    ['embed', 'embed'],
    ['embedBatch', 'embed'],
  ] as const
).flatMap(([method, protocol]) => GEMINI_CALLS[method].map((path) => ({ method, path, protocol })));

/** Reads the part of a call that its path and query say. */
export function geminiCall(
  { url }: Pick<IncomingMessage, 'url'>,
  { model = '' }: PathParams,
  method: keyof typeof GEMINI_CALLS = 'generate',
): PathCall {
  const isEvents = new URL(url ?? '/', 'http://node').searchParams.get('alt') === 'sse';
  const isStream = method === 'stream';
  return { model, isStream, isArray: isStream && !isEvents, isBatch: method === 'embedBatch' };
}

/** Takes the key that some clients put into the query into its header, so that no log that shows a URL has it. */
export function takeKeyFromQuery(incoming: IncomingMessage): void {
  const { url = '/', headers } = incoming;
  if (!VERSIONS.some((version) => url.startsWith(`${version}/models`))) return;
  if (!url.includes('key=')) return;
  const [path = '/', query = ''] = url.split('?', 2);
  const params = new URLSearchParams(query);
  const key = params.get('key');
  if (key === null) return;
  headers['x-goog-api-key'] ??= key;
  params.delete('key');
  incoming.url = params.size === 0 ? path : `${path}?${params.toString()}`;
}
