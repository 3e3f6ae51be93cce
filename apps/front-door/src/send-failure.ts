import { randomUUIDv7 } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { clientError, errorShapeOf, type ClientErrorCode } from '@tollgate/protocols';

const RETRY_AFTER_SECONDS = 1;

/** Holds the front door's own answers, when no service behind it answers. `error` is the same in the words of the proxy interface. */
const FAILURES = {
  no_node_ready: {
    status: 503,
    title: 'Service Unavailable',
    detail: 'No proxy node is ready. Try again shortly.',
    error: 'unavailable',
  },
  control_plane_unavailable: {
    status: 503,
    title: 'Service Unavailable',
    detail: 'The administration service is not reachable. Try again shortly.',
    error: 'unavailable',
  },
  bad_gateway: {
    status: 502,
    title: 'Bad Gateway',
    detail: 'The service closed the connection before it answered.',
    error: 'upstream_error',
  },
} as const satisfies Record<
  string,
  { status: number; title: string; detail: string; error: ClientErrorCode }
>;
export type FailureCode = keyof typeof FAILURES;

/** Answers in the shape of the interface that was called: the protocol's for a node's path, else problem+json (RFC 9457). `nodePath` is undefined for the control plane's. Once an answer has begun it cannot be replaced: then the connection ends, so that no client mistakes half of it for the whole. */
export function sendFailure(
  response: ServerResponse,
  code: FailureCode,
  nodePath: string | undefined,
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const retry = FAILURES[code].status === 503 ? { 'retry-after': String(RETRY_AFTER_SECONDS) } : {};
  if (nodePath === undefined) sendProblem(response, code, retry);
  else sendClientError(response, code, { nodePath, retry });
}

function sendProblem(
  response: ServerResponse,
  code: FailureCode,
  retry: Record<string, string>,
): void {
  const { status, title, detail } = FAILURES[code];
  response.writeHead(status, { 'content-type': 'application/problem+json', ...retry });
  response.end(JSON.stringify({ type: 'about:blank', code, status, title, detail }));
}

function sendClientError(
  response: ServerResponse,
  code: FailureCode,
  { nodePath, retry }: { nodePath: string; retry: Record<string, string> },
): void {
  const requestId = randomUUIDv7();
  const { error, detail } = FAILURES[code];
  const { status, headers, body } = clientError(errorShapeOf(nodePath), {
    code: error,
    message: detail,
    requestId,
  });
  response.writeHead(status, {
    'content-type': 'application/json',
    'x-request-id': requestId,
    'request-id': requestId,
    ...headers,
    ...retry,
  });
  response.end(body);
}
