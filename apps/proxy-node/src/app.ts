import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorShapeOf, type ClientProtocol, type CountingProtocol } from '@tollgate/protocols';
import { monotonicMs } from './monotonic-ms.ts';
import { countTokensEndpoint } from './endpoints/count-tokens.ts';
import type { CountRelay } from './endpoints/count-relay.ts';
import type { CountingLane } from './endpoints/counting-lane.ts';
import {
  GEMINI_CALLS,
  GEMINI_ROUTES,
  geminiCall,
  takeKeyFromQuery,
} from './endpoints/gemini-paths.ts';
import { getModel, listModels, type ModelsRequest } from './endpoints/models.ts';
import type { BackgroundGuard } from './endpoints/background-guard.ts';
import { STORED_PATHS, storedEndpoint } from './endpoints/stored.ts';
import type { StoredRelay } from './endpoints/stored-relay.ts';
import type { BodyQuota } from './http/body-quota.ts';
import { clientAddressHex } from './http/client-address.ts';
import {
  CLIENT_PROTOCOL_ROWS,
  hasModelInPath,
  type AddressRange,
  type IdSealer,
} from '@tollgate/contracts';
import { callerRequestId } from './http/caller-ids.ts';
import { ClientReply } from './http/client-reply.ts';
import { answerPreflight, type Cors } from './http/cors.ts';
import { ClientGone } from './http/read-body.ts';
import { readable, Router, type Exchange, type PathParams, type Route } from './http/router.ts';
import { isExpected, sendError } from './pipeline/send-error.ts';
import { traceIds, type Observer } from './observe/observer.ts';
import type { Operations } from './operations/operations.ts';
import { serveOperations } from './operations/serve-operations.ts';
import type { Admitter } from './pipeline/admission/admit.ts';
import type { ClientRequest } from './pipeline/request/client-request.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import type { StoredReach } from './upstream/stored-reach.ts';
import { Refusal } from './refusals.ts';

export interface AppParts {
  pipeline: Pipeline;
  admitter: Admitter;
  operations: Operations;
  newRid: () => string;
  trustedProxies: readonly AddressRange[];
  clientStallMs: number;
  bodies: BodyQuota;
  bodyBytesMax: number;
  counting: CountingLane;
  counts: CountRelay;
  stored: StoredRelay;
  guard: BackgroundGuard;
  sealer: IdSealer;
  reach: StoredReach;
  cors: Cors;
  /** Is null while traces and the access log are both off. */
  observer: Observer | null;
}

type Edge = Omit<ClientRequest, 'protocol' | 'isCompaction'>;

/** Answers every request of the server. It never throws. */
export type App = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** Maps paths to the handlers that answer them. */
export function createApp(parts: AppParts): App {
  const router = new Router();
  const { operations } = parts;
  for (const { name, path } of CLIENT_PROTOCOL_ROWS)
    if (!hasModelInPath(name)) serveModel(router, parts, path, name);
  serveGemini(router, parts);
  serveModel(router, parts, '/v1/responses/compact', 'responses', true);
  serveCount(router, parts, '/v1/messages/count_tokens', 'messages');
  serveCount(router, parts, '/v1/responses/input_tokens', 'responses');
  serveStored(router, parts);
  for (const version of ['/v1', '/v1beta']) {
    answer(router, parts, ['GET'], `${version}/models`, (edge) =>
      listModels(parts.admitter, modelsRequest(edge, operations)),
    );
    answer(router, parts, ['GET'], `${version}/models/:name+`, (edge, { name = '' }) =>
      getModel(parts.admitter, { ...modelsRequest(edge, operations), name }),
    );
  }
  // Claude Code calls this path before its first request.
  answer(router, parts, ['GET'], '/api/hello', () => ({ message: 'hello' }));
  answer(router, parts, ['GET'], '/', () => ({ service: 'tollgate' }));
  serveOperations(router, operations);
  const otherwise = (exchange: Exchange, route: Route | null): void =>
    refuse(exchange, parts, { route, router });
  return (incoming, outgoing) => {
    const exchange = { incoming, outgoing };
    takeKeyFromQuery(incoming);
    if (incoming.method === 'OPTIONS' && answerPreflight(exchange, parts.cors)) return;
    const failed = (error: unknown): void => {
      operations.log.error({ err: error }, 'request failed unexpectedly');
      outgoing.destroy();
    };
    try {
      const handling = router.handle(exchange, otherwise);
      if (handling instanceof Promise) handling.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}

const RESPONSES = '/v1/responses';

/** Lists the paths of the models' interface, for callers of an unknown one. */
function servedPaths({ served }: Router): string {
  return served
    .filter(({ path }) => path.startsWith('/v1'))
    .flatMap(({ methods, path }) => methods.map((method) => `${method} ${readable(path)}`))
    .join(', ');
}

function serveModel(
  router: Router,
  parts: AppParts,
  path: string,
  protocol: ClientProtocol,
  isCompaction = false,
): void {
  const asked = { protocol, isCompaction };
  const onServed = (request: ClientRequest): void => noteServed(parts, request, path);
  router.on(['POST'], path, (exchange) =>
    parts.pipeline.serve(edgeOf(exchange, parts, asked), onServed),
  );
}

/** Clients of Gemini name the model in the path. */
function serveGemini(router: Router, parts: AppParts): void {
  for (const { method, path, protocol } of GEMINI_ROUTES) {
    const onServed = (request: ClientRequest): void => noteServed(parts, request, readable(path));
    router.on(['POST'], path, (exchange, params) => {
      const call = geminiCall(exchange.incoming, params, method);
      const edge = edgeOf(exchange, parts, { protocol, isCompaction: false });
      if (call.isArray) edge.reply.streamType = 'application/json';
      return parts.pipeline.serve({ ...edge, call }, onServed);
    });
  }
  for (const path of GEMINI_CALLS.count) serveCount(router, parts, path, 'generate');
}

function serveCount(
  router: Router,
  parts: AppParts,
  path: string,
  protocol: CountingProtocol,
): void {
  answer(router, parts, ['POST'], path, async (edge, params) => {
    const quota = parts.bodies.enter();
    return countTokensEndpoint(parts.admitter, {
      ...edge,
      protocol,
      ...(protocol === 'generate' && { call: geminiCall(edge.incoming, params) }),
      index: parts.operations.gate.open(),
      bytesMax: parts.bodyBytesMax,
      quota,
      lane: parts.counting,
      relay: parts.counts,
      reach: parts.reach,
    }).finally(() => quota.leave());
  });
}

function serveStored(router: Router, parts: AppParts): void {
  const { operations, admitter, bodies, sealer, reach, stored: relay, guard } = parts;
  for (const [path, methods] of Object.entries(STORED_PATHS))
    answer(router, parts, methods, path, async (edge, { id, item }) => {
      const quota = bodies.enter();
      const index = operations.gate.open();
      return storedEndpoint(admitter, {
        ...edge,
        index,
        path,
        id,
        item,
        quota,
        bytesMax: parts.bodyBytesMax,
        sealer,
        reach,
        relay,
        guard,
      }).finally(() => quota.leave());
    });
}

function answer(
  router: Router,
  parts: AppParts,
  methods: readonly string[],
  path: string,
  handle: (edge: Edge, params: PathParams) => object | Promise<object>,
): void {
  router.on(methods, path, async (exchange, params) => {
    const edge: Edge = edgeOf(exchange, parts, NO_MODEL);
    try {
      const answered = await handle(edge, params);
      if (answered instanceof Uint8Array) edge.reply.send(200, answered);
      else edge.reply.sendJson(200, answered);
    } catch (error) {
      if (error instanceof ClientGone) return;
      if (!isExpected(error))
        parts.operations.log.error(
          { err: error, rid: edge.rid, ...traceIds(edge.observed, edge.incoming.headers) },
          'request failed unexpectedly',
        );
      const { status, code } = sendError(edge.reply, error, edge);
      edge.observed?.refused(status, code);
    }
    noteServed(parts, edge, path);
  });
}

/** The path is unknown, or has other methods. */
function refuse(
  exchange: Exchange,
  parts: AppParts,
  { route, router }: { route: Route | null; router: Router },
): void {
  const edge = edgeOf(exchange, parts, NO_MODEL);
  const { status, code } = sendError(edge.reply, refusalOf(exchange, route, router), edge);
  edge.observed?.refused(status, code);
  noteServed(parts, edge, NO_ROUTE);
}

function refusalOf({ incoming }: Exchange, route: Route | null, router: Router): Refusal {
  const served = `Served: ${servedPaths(router)}.`;
  if (!route)
    return new Refusal('not_found', { detail: `There is nothing at this path. ${served}` });
  // The header passes a proxy; `upgrade` itself ends at the next hop.
  const { method, headers } = incoming;
  if (route.path === RESPONSES && method === 'GET' && headers['sec-websocket-key'] !== undefined)
    return new Refusal('websocket_not_served', { headers: { upgrade: 'HTTP/1.1' } });
  const allow = [...route.allowed].join(', ');
  const detail = `${readable(route.path)} is served with ${allow}. ${served}`;
  return new Refusal('method_not_allowed', { headers: { allow }, detail });
}

/** All unknown paths share this label, because a caller must not create labels. */
const NO_ROUTE = '_none';
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

function noteServed({ operations }: AppParts, edge: Edge, route: string): void {
  const { method = '' } = edge.incoming;
  const served = {
    rid: edge.rid,
    method: METHODS.has(method) ? method : '_OTHER',
    route,
    status: edge.reply.status,
    durationMs: monotonicMs() - edge.receivedMonotonicMs,
    trace: null,
  };
  operations.served(edge.observed?.served(served) ?? served);
}

type Asked = Pick<ClientRequest, 'protocol' | 'isCompaction'>;
/** Holds the parameters of paths that serve no model, which an `Edge` does not show. */
const NO_MODEL: Asked = { protocol: 'chat', isCompaction: false };

function edgeOf(
  { incoming, outgoing }: Exchange,
  { newRid, trustedProxies, clientStallMs, cors, observer }: AppParts,
  { protocol, isCompaction }: Asked,
): ClientRequest {
  const rid = newRid();
  const { headers } = incoming;
  const [path = '/'] = (incoming.url ?? '/').split('?', 1);
  const callerId = callerRequestId(headers);
  const reply = new ClientReply(outgoing, { rid, stallMs: clientStallMs });
  reply.addHeaders(cors.headersFor(headers));
  if (callerId !== null) reply.addHeaders({ 'x-client-request-id': callerId });
  return {
    rid,
    callerId,
    protocol,
    isCompaction,
    shape: errorShapeOf(path, headers),
    incoming,
    reply,
    addressHex: clientAddressHex(incoming, trustedProxies),
    observed: observer?.follow({ rid, callerId, headers }) ?? null,
    receivedAtMs: Date.now(),
    receivedMonotonicMs: monotonicMs(),
  };
}

function modelsRequest(
  { incoming, addressHex, shape }: Edge,
  operations: Operations,
): ModelsRequest {
  const query = new URL(incoming.url ?? '/', 'http://node').searchParams;
  return { headers: incoming.headers, shape, query, addressHex, index: operations.gate.open() };
}
