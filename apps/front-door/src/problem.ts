import type { ServerResponse } from 'node:http';

const RETRY_AFTER_SECONDS = 1;

const PROBLEMS = {
  no_node_ready: { status: 503, title: 'Service Unavailable', detail: 'No proxy node is ready. Try again shortly.' },
  control_plane_unavailable: { status: 503, title: 'Service Unavailable', detail: 'The administration service is not reachable. Try again shortly.' },
  bad_gateway: { status: 502, title: 'Bad Gateway', detail: 'The service broke off before it answered.' },
} as const;
export type ProblemCode = keyof typeof PROBLEMS;

/** RFC 9457. Once an answer has begun it cannot be replaced: then the connection ends, so that nobody takes half of it for the whole. */
export function sendProblem(response: ServerResponse, code: ProblemCode): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const problem = { type: 'about:blank', code, ...PROBLEMS[code] };
  response.writeHead(problem.status, {
    'content-type': 'application/problem+json',
    ...(problem.status === 503 ? { 'retry-after': String(RETRY_AFTER_SECONDS) } : {}),
  });
  response.end(JSON.stringify(problem));
}
