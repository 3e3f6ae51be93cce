import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { errorShapeOf, type ClientProtocol, type CountingProtocol } from '@tollgate/protocols';
import { Hono, type Context } from 'hono';
import { monotonicMs } from './monotonic-ms.ts';
import { countTokensEndpoint } from './endpoints/count-tokens.ts';
import type { CountRelay } from './endpoints/count-relay.ts';
import type { CountingLane } from './endpoints/counting-lane.ts';
import { getModel, listModels, type ModelsRequest } from './endpoints/models.ts';
import type { BackgroundGuard } from './endpoints/background-guard.ts';
import { STORED_PATHS, storedEndpoint } from './endpoints/stored.ts';
import type { StoredRelay } from './endpoints/stored-relay.ts';
import type { BodyQuota } from './http/body-quota.ts';
import { clientAddressHex } from './http/client-address.ts';
import type { AddressRange, IdSealer } from '@tollgate/contracts';
import { callerRequestId } from './http/caller-ids.ts';
import { ClientReply } from './http/client-reply.ts';
import type { Cors } from './http/cors.ts';
import { ClientGone } from './http/read-body.ts';
import { isExpected, sendError } from './pipeline/send-error.ts';
import { traceIds, type Observer } from './observe/observer.ts';
import type { Operations } from './operations/operations.ts';
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
  /** Null while neither traces nor the access log are on. */
  observer: Observer | null;
}

type Env = { Bindings: HttpBindings };
type Edge = Omit<ClientRequest, 'protocol' | 'isCompaction'> & { outgoing: ServerResponse };

/** Paths to what answers them. Answers are written to the socket's own response: nothing here builds a web Response but to say so. */
export function createApp(parts: AppParts): Hono<Env> {
  // A trailing slash names the same path.
  const app = new Hono<Env>({ strict: false });
  const { operations } = parts;
  app.options('/v1/*', (context, next) => answerPreflight(context.env, parts) ?? next());
  serveModel(app, parts, '/v1/chat/completions', 'chat');
  serveModel(app, parts, '/v1/messages', 'messages');
  serveModel(app, parts, '/v1/embeddings', 'embeddings');
  serveModel(app, parts, '/v1/completions', 'completions');
  refuseWebSockets(app, parts, '/v1/responses');
  serveModel(app, parts, '/v1/responses', 'responses');
  serveModel(app, parts, '/v1/responses/compact', 'responses', { isCompaction: true });
  serveCount(app, parts, '/v1/messages/count_tokens', 'messages');
  serveCount(app, parts, '/v1/responses/input_tokens', 'responses');
  serveStored(app, parts);
  answer(app, parts, ['GET'], '/v1/models', (edge) =>
    listModels(parts.admitter, modelsRequest(edge, operations)),
  );
  answer(app, parts, ['GET'], '/v1/models/:name{.+}', (edge, context) =>
    getModel(parts.admitter, {
      ...modelsRequest(edge, operations),
      name: context.req.param('name') ?? '',
    }),
  );
  // Claude Code knocks here before its first request.
  answer(app, parts, ['GET'], '/api/hello', () => ({ message: 'hello' }));
  answer(app, parts, ['GET'], '/', () => ({ service: 'tollgate' }));
  app.get('/healthz', (context) => context.json({ status: 'ok' }));
  app.get('/readyz', (context) => {
    const readiness = operations.readiness();
    return context.json(readiness, readiness.ready ? 200 : 503);
  });
  app.get('/metrics', (context) =>
    operations.metrics({
      authorization: context.req.header('authorization'),
      accept: context.req.header('accept'),
    }),
  );
  const notFound = `There is nothing at this path. Served: ${servedPaths(app).join(', ')}.`;
  app.notFound((context) => refuse(context, parts, new Refusal('not_found', { detail: notFound })));
  return app;
}

const LISTED_METHODS = new Set(['GET', 'POST', 'DELETE']);
/** Served to be refused. */
const WEB_SOCKETS = 'GET /v1/responses';

/** Of the interface of models, for those who call another path of it. */
function servedPaths({ routes }: Hono<Env>): string[] {
  const served = routes
    .filter(({ method, path }) => LISTED_METHODS.has(method) && path.startsWith('/v1/'))
    .map(({ method, path }) => `${method} ${readable(path)}`);
  return [...new Set(served)].filter((each) => each !== WEB_SOCKETS);
}

function readable(path: string): string {
  return path.replace(/:(\w+)(?:\{.*\})?/g, '{$1}');
}

function answerPreflight(
  { incoming, outgoing }: HttpBindings,
  { cors }: AppParts,
): Response | null {
  const headers = cors.preflight(incoming.method, incoming.headers);
  if (!headers) return null;
  outgoing.writeHead(204, headers).end();
  return RESPONSE_ALREADY_SENT;
}

function serveModel(
  app: Hono<Env>,
  parts: AppParts,
  path: string,
  protocol: ClientProtocol,
  { isCompaction = false }: { isCompaction?: boolean } = {},
): void {
  app.post(path, async (context) => {
    const edge = edgeOf(context.env, parts);
    await parts.pipeline.serve({ ...edge, protocol, isCompaction });
    noteServed(parts, edge, path);
    return RESPONSE_ALREADY_SENT;
  });
  onlyMethods(app, parts, path, ['POST']);
}

function serveCount(
  app: Hono<Env>,
  parts: AppParts,
  path: string,
  protocol: CountingProtocol,
): void {
  answer(app, parts, ['POST'], path, async (edge) => {
    const quota = parts.bodies.enter();
    return countTokensEndpoint(parts.admitter, {
      ...edge,
      protocol,
      index: parts.operations.gate.open(),
      bytesMax: parts.bodyBytesMax,
      quota,
      lane: parts.counting,
      relay: parts.counts,
      reach: parts.reach,
    }).finally(() => quota.leave());
  });
}

function serveStored(app: Hono<Env>, parts: AppParts): void {
  const { operations, admitter, bodies, sealer, reach, stored: relay, guard } = parts;
  for (const [path, methods] of Object.entries(STORED_PATHS))
    answer(app, parts, methods, path, async (edge, context) => {
      const quota = bodies.enter();
      const { id, item } = context.req.param() as { id?: string; item?: string };
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

/** Detected by the header that a proxy passes on; `upgrade` itself ends at the next hop. */
function refuseWebSockets(app: Hono<Env>, parts: AppParts, path: string): void {
  app.get(path, (context, next) =>
    context.req.header('sec-websocket-key') === undefined
      ? next()
      : refuse(
          context,
          parts,
          new Refusal('websocket_not_served', { headers: { upgrade: 'HTTP/1.1' } }),
        ),
  );
}

function answer(
  app: Hono<Env>,
  parts: AppParts,
  methods: readonly string[],
  path: string,
  handle: (edge: Edge, context: Context<Env>) => object | Promise<object>,
): void {
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  app.on(allowed, path, async (context) => {
    const edge = edgeOf(context.env, parts);
    try {
      const answered = await handle(edge, context);
      if (answered instanceof Uint8Array) edge.reply.send(200, answered);
      else edge.reply.sendJson(200, answered);
    } catch (error) {
      if (error instanceof ClientGone) return RESPONSE_ALREADY_SENT;
      if (!isExpected(error))
        parts.operations.log.error(
          { err: error, rid: edge.rid, ...traceIds(edge.observed, edge.incoming.headers) },
          'request failed unexpectedly',
        );
      const { status, code } = sendError(edge.reply, error, edge);
      edge.observed?.refused(status, code);
    }
    noteServed(parts, edge, path);
    return RESPONSE_ALREADY_SENT;
  });
  onlyMethods(app, parts, path, allowed);
}

function onlyMethods(
  app: Hono<Env>,
  parts: AppParts,
  path: string,
  methods: readonly string[],
): void {
  const allow = methods.join(', ');
  const name = readable(path);
  app.all(path, (context) => {
    const detail = `${name} is served with ${allow}. Served: ${servedPaths(app).join(', ')}.`;
    return refuse(
      context,
      parts,
      new Refusal('method_not_allowed', { headers: { allow }, detail }),
    );
  });
}

function refuse(context: Context<Env>, parts: AppParts, refusal: Refusal): Response {
  const edge = edgeOf(context.env, parts);
  const { status, code } = sendError(edge.reply, refusal, edge);
  edge.observed?.refused(status, code);
  noteServed(parts, edge, NO_ROUTE);
  return RESPONSE_ALREADY_SENT;
}

/** For all paths that are none: a caller must not make labels. */
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

function edgeOf(
  { incoming, outgoing }: { incoming: IncomingMessage; outgoing: ServerResponse },
  { newRid, trustedProxies, clientStallMs, cors, observer }: AppParts,
): Edge {
  const rid = newRid();
  const [path = '/'] = (incoming.url ?? '/').split('?', 1);
  const callerId = callerRequestId(incoming.headers);
  const reply = new ClientReply(outgoing, { rid, stallMs: clientStallMs });
  reply.addHeaders(cors.headersFor(incoming.headers));
  if (callerId !== null) reply.addHeaders({ 'x-client-request-id': callerId });
  return {
    rid,
    callerId,
    shape: errorShapeOf(path, incoming.headers),
    incoming,
    outgoing,
    reply,
    addressHex: clientAddressHex(incoming, trustedProxies),
    observed: observer?.follow({ rid, callerId, headers: incoming.headers }) ?? null,
    receivedAtMs: Date.now(),
    receivedMonotonicMs: monotonicMs(),
  };
}

function modelsRequest({ incoming, addressHex }: Edge, operations: Operations): ModelsRequest {
  const query = new URL(incoming.url ?? '/', 'http://node').searchParams;
  return { headers: incoming.headers, query, addressHex, index: operations.gate.open() };
}
