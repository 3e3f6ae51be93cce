import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { buildConnector, Pool, type Dispatcher } from 'undici';
import { cleanResponseHeaders } from './proxy-headers.ts';

const CONNECT_TIMEOUT_MS = 2_000;

/** No connection was ever made: the target has seen nothing of the request, so another may get it. */
export class NeverConnected extends Error {}

/** Resolves when the answer has ended, however it did; rejects when none can be given. */
export type Forward = (
  request: IncomingMessage,
  response: ServerResponse,
  target: string,
) => Promise<void>;

/** Requests go out by undici's dispatch, from its parser straight to the client's response: half the CPU of node:http's client. */
export function createForward(localAddress: string | undefined): Forward {
  const targets = new Map<string, { pool: Pool; prefix: string }>();
  const connect = connectorFrom(localAddress);
  return (request, response, url) => {
    let target = targets.get(url);
    if (!target) {
      const { origin, pathname } = new URL(url);
      // The pool has no time-outs, because a stream may be silent for as long as node and client allow.
      const pool = new Pool(origin, { connect, headersTimeout: 0, bodyTimeout: 0, pipelining: 1 });
      target = { pool, prefix: pathname === '/' ? '' : pathname };
      targets.set(url, target);
    }
    const { pool, prefix } = target;
    return new Promise((resolve, reject) => {
      const body = hasBody(request) ? new PassThrough() : null;
      const passage = new Passage(response, { resolve, reject, start: () => begin(request, body) });
      pool.dispatch(
        {
          path: prefix + request.url,
          method: request.method as Dispatcher.HttpMethod,
          headers: headersOf(request),
          body,
        },
        passage,
      );
    });
  };
}

function connectorFrom(localAddress: string | undefined): buildConnector.connector {
  const connect = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    ...(localAddress !== undefined && { localAddress }),
  });
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error) callback(new NeverConnected(error.message, { cause: error }), null);
      else callback(null, socket);
    });
}

/** Framing is per connection: undici rewrites it, chunked where the length is not known. */
function headersOf({ headers }: IncomingMessage): IncomingHttpHeaders {
  const { 'transfer-encoding': _, ...others } = headers;
  return others;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/**
 * undici destroys a body whose answer is there before it was sent whole, and nothing reads the client's connection any more: a client that still sends
 * would wait without end, and so would the next request on its connection. Therefore undici gets a stream of its own, and what remains of the request is read and
 * dropped, as a node does. Not before there is a connection: until then another target may get the whole body.
 */
function begin(request: IncomingMessage, body: PassThrough | null): void {
  if (!body) return;
  body.once('close', () => request.unpipe().resume());
  request.pipe(body);
}

interface End {
  /** The request is on its way. */
  start: () => void;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** Is one answer on its way. A client that leaves ends the request at once. */
class Passage implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  /** The client asked for it before its headers were cleaned. */
  readonly #isLast: boolean;
  readonly #end: End;
  #controller: Dispatcher.DispatchController | null = null;
  #isGone = false;
  #hasData = false;

  constructor(response: ServerResponse, end: End) {
    this.#response = response;
    this.#isLast = !response.shouldKeepAlive;
    this.#end = end;
    response.once('close', () => this.#left());
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#end.start();
    if (this.#isGone) controller.abort(new Error('the client disconnected'));
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusText?: string,
  ): void {
    if (status < 200) return;
    cleanResponseHeaders(headers, this.#isLast);
    this.#response.writeHead(status, statusText, headers);
    // The first event of a stream may be long in coming; its headers are not held back for it.
    if (headers['content-type']?.startsWith('text/event-stream'))
      process.nextTick(() => this.#hasData || this.#isGone || this.#response.flushHeaders());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#hasData = true;
    if (this.#response.write(chunk)) return;
    controller.pause();
    this.#response.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    this.#response.end();
    this.#end.resolve();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#isGone) this.#end.resolve();
    else this.#end.reject(error);
  }

  #left(): void {
    if (this.#response.writableFinished) return;
    this.#isGone = true;
    this.#controller?.abort(new Error('the client disconnected'));
  }
}
