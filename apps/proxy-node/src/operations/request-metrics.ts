import {
  BoundedLabel,
  readTraceparent,
  type TraceContext,
  type UsageFinal,
} from '@tollgate/contracts';
import { Counter, Histogram, type OpenMetricsContentType, type Registry } from 'prom-client';
import { CHARGED, operationOf, tokensOf } from '../observe/gen-ai.ts';

const LATENCY_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const PER_TOKEN_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1];
const TOKENS = [1, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576];
/** The conventions know two types; cached input is input. */
const SIDES = [
  ['input', 'prompt'],
  ['output', 'output'],
] as const;
/** Of a fleet's upstreams; an installation has a few dozen. */
const UPSTREAMS_MAX = 200;

export interface Served {
  readonly rid: string;
  readonly method: string;
  /** As declared, never as asked for. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  /** Of its span, where its trace is kept. */
  readonly trace: TraceContext | null;
}

/**
 * Counts requests under OpenTelemetry's names where it has one
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/). Labels are bounded: never a key, an account or a user.
 */
export class RequestMetrics {
  readonly #models: BoundedLabel;
  readonly #upstreams = new BoundedLabel(UPSTREAMS_MAX);
  readonly #http: Histogram;
  readonly #duration: Histogram;
  readonly #firstToken: Histogram;
  readonly #perToken: Histogram;
  readonly #usage: Histogram;
  readonly #tokens: Counter;
  readonly #attempts: Counter;
  readonly #unpaid: Counter;
  readonly #refusals: Counter;

  /** `modelsMax`: models with figures of their own; the others share `_other`. */
  constructor(registry: Registry<OpenMetricsContentType>, { modelsMax }: { modelsMax: number }) {
    this.#models = new BoundedLabel(modelsMax);
    const histogram = (
      name: string,
      help: string,
      buckets: readonly number[],
      labelNames: readonly string[],
    ): Histogram =>
      new Histogram({
        name,
        help,
        buckets: [...buckets],
        labelNames,
        registers: [registry],
        enableExemplars: true,
      });
    const counter = (name: string, help: string, labelNames: readonly string[]): Counter =>
      new Counter({ name, help, labelNames, registers: [registry] });
    this.#http = histogram(
      'http_server_request_duration_seconds',
      'Duration of requests, to the last byte.',
      LATENCY_SECONDS,
      ['http_request_method', 'http_route', 'http_response_status_code'],
    );
    this.#duration = histogram(
      'gen_ai_client_operation_duration_seconds',
      'Duration of admitted requests.',
      LATENCY_SECONDS,
      ['gen_ai_operation_name', 'gen_ai_request_model', 'outcome'],
    );
    this.#firstToken = histogram(
      'gen_ai_server_time_to_first_token_seconds',
      'Time to the first content of streams.',
      LATENCY_SECONDS,
      ['gen_ai_request_model'],
    );
    this.#perToken = histogram(
      'gen_ai_server_time_per_output_token_seconds',
      'Time for each output token of a stream after the first.',
      PER_TOKEN_SECONDS,
      ['gen_ai_request_model'],
    );
    this.#usage = histogram('gen_ai_client_token_usage', 'Tokens of admitted requests.', TOKENS, [
      'gen_ai_operation_name',
      'gen_ai_request_model',
      'gen_ai_token_type',
    ]);
    this.#tokens = counter('tollgate_tokens_total', 'Tokens by the class they are charged as.', [
      'gen_ai_request_model',
      'class',
      'basis',
    ]);
    this.#attempts = counter('tollgate_upstream_attempts_total', 'Attempts at upstreams.', [
      'upstream_id',
      'result',
    ]);
    this.#unpaid = counter(
      'tollgate_unpaid_attempt_tokens_total',
      'Estimated tokens of attempts that providers may bill and no customer pays.',
      ['upstream_id', 'gen_ai_token_type'],
    );
    this.#refusals = counter(
      'tollgate_refusals_total',
      'Requests refused or failed before their first byte.',
      ['status', 'code'],
    );
  }

  served({ rid, method, route, status, durationMs, trace }: Served): void {
    this.#http.observe({
      labels: {
        http_request_method: method,
        http_route: route,
        http_response_status_code: String(status),
      },
      value: durationMs / 1000,
      exemplarLabels: exemplarOf(rid, trace),
    });
  }

  /** An admitted request has ended. */
  ended(rid: string, final: UsageFinal, modelName: string): void {
    const gen_ai_request_model = this.#models.of(modelName);
    const gen_ai_operation_name = operationOf(final.protocol);
    const exemplarLabels = exemplarOf(rid, readTraceparent(final.traceparent));
    this.#duration.observe({
      labels: { gen_ai_operation_name, gen_ai_request_model, outcome: final.outcome },
      value: final.duration_ms / 1000,
      exemplarLabels,
    });
    if (final.is_stream) this.#streamed(final, { gen_ai_request_model }, exemplarLabels);
    for (const [gen_ai_token_type, side] of SIDES) {
      const value = tokensOf(final, side);
      const labels = { gen_ai_operation_name, gen_ai_request_model, gen_ai_token_type };
      if (value > 0) this.#usage.observe({ labels, value, exemplarLabels });
    }
    this.#charged(final, gen_ai_request_model);
    this.#attempted(final);
  }

  refused({ status, code }: { status: number; code: string }): void {
    this.#refusals.inc({ status: String(status), code });
  }

  #streamed(
    final: UsageFinal,
    labels: { gen_ai_request_model: string },
    exemplarLabels: Record<string, string>,
  ): void {
    if (final.first_token_ms === null) return;
    this.#firstToken.observe({ labels, value: final.first_token_ms / 1000, exemplarLabels });
    const furtherTokens = tokensOf(final, 'output') - 1;
    if (furtherTokens < 1) return;
    const value = Math.max(0, final.duration_ms - final.first_token_ms) / 1000 / furtherTokens;
    this.#perToken.observe({ labels, value, exemplarLabels });
  }

  #charged(final: UsageFinal, gen_ai_request_model: string): void {
    for (const { name, field } of CHARGED) {
      const count = final[field];
      if (count) this.#tokens.inc({ gen_ai_request_model, class: name, basis: final.basis }, count);
    }
  }

  #attempted({ attempts }: UsageFinal): void {
    for (const { upstream_id: id, error, cost } of attempts) {
      const upstream_id = this.#upstreams.of(String(id));
      this.#attempts.inc({ upstream_id, result: error ?? 'ok' });
      if (!cost) continue;
      this.#unpaid.inc({ upstream_id, gen_ai_token_type: 'input' }, cost.input_tokens);
      this.#unpaid.inc({ upstream_id, gen_ai_token_type: 'output' }, cost.output_tokens);
    }
  }
}

function exemplarOf(rid: string, trace: TraceContext | null): Record<string, string> {
  return trace
    ? { request_id: rid, trace_id: trace.traceId, span_id: trace.spanId }
    : { request_id: rid };
}
