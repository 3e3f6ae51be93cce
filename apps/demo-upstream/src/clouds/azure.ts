import type { IncomingMessage } from 'node:http';
import type { Dialect } from '../answer.ts';
import { chatDialect } from '../chat-dialect.ts';
import { hasToken } from './tokens.ts';

/** Describes an endpoint of Azure: OpenAI's path for it, and the deployment where the path names one. */
interface AzureCall {
  readonly path: string;
  readonly refusal: { readonly status: number; readonly body: unknown } | null;
}

const DEPLOYMENT = /^\/openai\/deployments\/[^/]+(\/(?:chat\/completions|embeddings))$/;

/** Returns Azure's answer to a request, which needs its key in `api-key` and, in the older interface, a version; null for a path that is not Azure's. */
export function azureCall(request: IncomingMessage, url: URL): AzureCall | null {
  if (!url.pathname.startsWith('/openai/')) return null;
  const older = DEPLOYMENT.exec(url.pathname)?.[1];
  const path = older ?? url.pathname.slice('/openai'.length).replace(/^\/v1/, '');
  if (typeof request.headers['api-key'] !== 'string' && !hasToken(request))
    return { path, refusal: refusal(401, '401', 'Access denied due to invalid subscription key') };
  if (older !== undefined && !/^\d{4}-\d\d-\d\d/.test(url.searchParams.get('api-version') ?? ''))
    return { path, refusal: refusal(404, '404', 'Resource not found') };
  return { path, refusal: null };
}

/** Azure's streams begin with a chunk that has the filter's results of the prompt, and neither an id nor choices. */
export const azureDialect: Dialect = {
  ...chatDialect,
  start: (exchange) =>
    `data: ${JSON.stringify({ id: '', object: '', created: 0, model: '', choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }] })}\n\n${chatDialect.start(exchange)}`,
};

function refusal(status: number, code: string, message: string): AzureCall['refusal'] {
  return { status, body: { error: { code, message } } };
}
