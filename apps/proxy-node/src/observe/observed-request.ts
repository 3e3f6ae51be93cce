import type { IncomingHttpHeaders } from 'node:http';
import {
  OUTCOME_ROWS,
  readTraceparent,
  writeTraceparent,
  type Outcome,
  type TraceContext,
  type UsageFinal,
} from '@tollgate/contracts';
import { Trace, type Attributes, type OpenSpan, type Tracing } from '@tollgate/tracing';
import type { Logger } from 'pino';
import type { Candidate } from '../snapshot/routing-index.ts';
import { finalAttributes, operationOf } from './gen-ai.ts';

/** Names the consecutive stages of a request; attempts at upstreams are separate. */
export type Stage = 'authenticate' | 'parse' | 'admit' | 'answer' | 'journal';

export interface Served {
  readonly rid: string;
  readonly method: string;
  /** Is the declared path, never the requested one. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  /** Is the request's span, if its trace is kept. */
  readonly trace: TraceContext | null;
}

/** Describes one attempt at an upstream. */
export interface ObservedAttempt {
  /** Is the header for the upstream. */
  readonly traceparent: string;
  end(attempt: UsageFinal['attempts'][number]): void;
}

const FAILURES: ReadonlySet<Outcome> = new Set(
  OUTCOME_ROWS.filter(({ isFailure }) => isFailure).map(({ name }) => name),
);
/** Attempts end in these ways without a fault. */
const GIVEN_UP = new Set(['given_up', 'hedge_lost', 'stale']);

/** Collects the trace and the access log entry of one request. No object is created while both are off. */
export class ObservedRequest {
  readonly #rid: string;
  readonly #callerId: string | null;
  readonly #trace: Trace | null;
  readonly #root: OpenSpan | null;
  readonly #accessLog: Logger | null;
  #stage: OpenSpan | null = null;
  #attributes: Attributes = {};

  constructor(
    {
      rid,
      callerId,
      headers,
    }: { rid: string; callerId: string | null; headers: IncomingHttpHeaders },
    { tracing, accessLog }: { tracing: Tracing | null; accessLog: Logger | null },
  ) {
    this.#rid = rid;
    this.#callerId = callerId;
    this.#accessLog = accessLog;
    this.#trace = tracing && new Trace(tracing, readTraceparent(headers['traceparent']));
    this.#root = this.#trace?.open({ name: 'request', kind: 'server' }) ?? null;
  }

  /** Returns its place in its trace; null without one. */
  get context(): TraceContext | null {
    return this.#root?.context ?? null;
  }

  /** Begins a stage, which ends the one before it. */
  enter(name: Stage): void {
    this.leave();
    this.#stage = this.#trace?.open({ name, kind: 'internal' }, this.#root) ?? null;
  }

  leave(): void {
    this.#stage?.end();
    this.#stage = null;
  }

  attempt(
    { route, upstream }: Candidate,
    { protocol, outputLimit }: { protocol: UsageFinal['protocol']; outputLimit: number | null },
  ): ObservedAttempt | null {
    const operation = operationOf(protocol);
    const name = `${operation} ${route.upstream_model}`;
    const span = this.#trace?.open({ name, kind: 'client' }, this.#root);
    if (!span) return null;
    span.set({
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': upstream.protocol,
      'gen_ai.request.model': route.upstream_model,
      ...(outputLimit !== null && { 'gen_ai.request.max_tokens': outputLimit }),
      'server.address': new URL(upstream.base_url).hostname,
      'tollgate.upstream.id': upstream.id,
      'tollgate.route.id': route.id,
    });
    return {
      traceparent: writeTraceparent(span.context),
      end: ({ status, error }) => {
        if (status !== undefined) span.set({ 'http.response.status_code': status });
        if (error !== undefined && GIVEN_UP.has(error)) span.set({ 'tollgate.ended_as': error });
        const failure = error === undefined || GIVEN_UP.has(error) ? null : error;
        if (failure !== null) this.#trace?.keep();
        span.end(failure);
      },
    };
  }

  /** Notes a refusal; a 5xx is a failure. */
  refused(status: number, code: string): void {
    this.#attributes = { ...this.#attributes, 'tollgate.refusal': code };
    this.#stage?.end(status >= 500 ? code : null);
    this.#stage = null;
  }

  /** Returns the traceparent for the final of a traced request, so that settlement and booking join its trace. */
  traceparentFor(outcome: Outcome): string | undefined {
    if (FAILURES.has(outcome)) this.#trace?.keep();
    return this.#trace?.isKept && this.#root ? writeTraceparent(this.#root.context) : undefined;
  }

  /** Its final is in the journal. */
  ended(rid: string, final: UsageFinal, modelName: string): void {
    this.leave();
    this.#attributes = { ...finalAttributes(final, modelName), 'tollgate.request.id': rid };
  }

  /** The answer is complete: the access log gets its line, and a kept trace is sent. Returns the same value with its place in a kept trace. */
  served(served: Served): Served {
    const { method, route, status, durationMs } = served;
    const attributes = {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'tollgate.request.id': this.#rid,
      ...this.#attributes,
    };
    if (status >= 500) this.#trace?.keep();
    this.leave();
    this.#root?.rename(`${method} ${route}`);
    this.#root?.set(attributes);
    this.#root?.end(failureOf(status, this.#attributes));
    this.#trace?.handOver();
    const { context } = this;
    this.#accessLog?.info(
      {
        rid: this.#rid,
        caller_id: this.#callerId,
        trace_id: context?.traceId,
        span_id: context?.spanId,
        duration_ms: Math.round(durationMs),
        ...attributes,
      },
      'access',
    );
    return { ...served, trace: this.#trace?.isKept ? context : null };
  }
}

function failureOf(status: number, attributes: Attributes): string | null {
  const outcome = attributes['tollgate.outcome'];
  if (FAILURES.has(outcome as Outcome)) return String(outcome);
  return status >= 500 ? String(status) : null;
}
