import type { ServerResponse } from 'node:http';
import type { Router } from '../http/router.ts';
import { TAKES_NO_REQUESTS } from '../pipeline/request/gate.ts';
import type { Operations } from './operations.ts';

/** Registers the paths of probes and of the scraper. */
export function serveOperations(router: Router, operations: Operations): void {
  router.on(['GET'], '/healthz', ({ outgoing }) => sendPlain(outgoing, 200, { status: 'ok' }));
  router.on(['GET'], '/readyz', ({ outgoing }) => {
    const readiness = operations.readiness();
    sendPlain(
      outgoing,
      readiness.ready ? 200 : 503,
      readiness,
      readiness.ready ? {} : TAKES_NO_REQUESTS,
    );
  });
  router.on(['GET'], '/metrics', async ({ incoming: { headers }, outgoing }) => {
    const { status, headers: own, text } = await operations.metrics(headers);
    outgoing.writeHead(status, own).end(text);
  });
}

function sendPlain(
  outgoing: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  outgoing
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));
}
