import {
  BoundedLabel,
  readTraceparent,
  type AttemptCost,
  type TraceContext,
  type UsageFinal,
} from '@tollgate/contracts';
import type { OpenMetricsContentType, Registry } from 'prom-client';
import { CHARGED, operationOf, tokensOf } from '../observe/gen-ai.ts';
import type { Served } from '../observe/observed-request.ts';
import type { Probed } from '../upstream/route-probes.ts';
import { requestCounters, requestHistograms } from './request-instruments.ts';

/** The conventions know two types; cached input is input. */
const SIDES = [
  ['input', 'prompt'],
  ['output', 'output'],
] as const;
/** Of a fleet's upstreams; an installation has a few dozen. */
const UPSTREAMS_MAX = 200;

/**
 * Counts requests under OpenTelemetry's names where it has one
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/). Labels are bounded: never a key, an account or a user.
 */
export class RequestMetrics {
  readonly #models: BoundedLabel;
  readonly #upstreams = new BoundedLabel(UPSTREAMS_MAX);
  readonly #histograms: ReturnType<typeof requestHistograms>;
  readonly #counters: ReturnType<typeof requestCounters>;

  /** `modelsMax`: models with figures of their own; the others share `_other`. */
  constructor(registry: Registry<OpenMetricsContentType>, { modelsMax }: { modelsMax: number }) {
    this.#models = new BoundedLabel(modelsMax);
    this.#histograms = requestHistograms(registry);
    this.#counters = requestCounters(registry);
  }

  served({ rid, method, route, status, durationMs, trace }: Served): void {
    this.#histograms.http.observe({
      labels: {
        http_request_method: method,
        http_route: route,
        http_response_status_code: String(status),
      },
      value: durationMs / 1000,
      exemplarLabels: exemplarOf(rid, trace),
    });
  }

  /** An admitted request has ended. `excessTokens`: of its prompt, reported above the bound. */
  ended(
    rid: string,
    final: UsageFinal,
    { model, excessTokens = 0 }: { model: string; excessTokens?: number },
  ): void {
    const gen_ai_request_model = this.#models.of(model);
    const gen_ai_operation_name = operationOf(final.protocol);
    const exemplarLabels = exemplarOf(rid, readTraceparent(final.traceparent));
    this.#histograms.duration.observe({
      labels: { gen_ai_operation_name, gen_ai_request_model, outcome: final.outcome },
      value: final.duration_ms / 1000,
      exemplarLabels,
    });
    if (final.is_stream) this.#streamed(final, { gen_ai_request_model }, exemplarLabels);
    for (const [gen_ai_token_type, side] of SIDES) {
      const value = tokensOf(final, side);
      const labels = { gen_ai_operation_name, gen_ai_request_model, gen_ai_token_type };
      if (value > 0) this.#histograms.usage.observe({ labels, value, exemplarLabels });
    }
    this.#charged(final, gen_ai_request_model);
    this.#attempted(final);
    if (excessTokens === 0) return;
    const upstream_id = this.#upstreams.of(String(final.upstream_id));
    this.#counters.excess.inc({ upstream_id, gen_ai_request_model }, excessTokens);
  }

  /** A request of the gateway's own: what it cost is paid by the installation. */
  probed({ upstreamId, result, cost }: Probed): void {
    const upstream_id = this.#upstreams.of(String(upstreamId));
    this.#counters.probes.inc({ upstream_id, result });
    this.#unpaid(upstream_id, cost);
  }

  refused({ status, code }: { status: number; code: string }): void {
    this.#counters.refusals.inc({ status: String(status), code });
  }

  #streamed(
    final: UsageFinal,
    labels: { gen_ai_request_model: string },
    exemplarLabels: Record<string, string>,
  ): void {
    if (final.first_token_ms === null) return;
    this.#histograms.firstToken.observe({
      labels,
      value: final.first_token_ms / 1000,
      exemplarLabels,
    });
    const furtherTokens = tokensOf(final, 'output') - 1;
    if (furtherTokens < 1) return;
    const value = Math.max(0, final.duration_ms - final.first_token_ms) / 1000 / furtherTokens;
    this.#histograms.perToken.observe({ labels, value, exemplarLabels });
  }

  #charged(final: UsageFinal, gen_ai_request_model: string): void {
    for (const { name, field } of CHARGED) {
      const count = final[field];
      if (count)
        this.#counters.tokens.inc({ gen_ai_request_model, class: name, basis: final.basis }, count);
    }
  }

  #attempted({ attempts }: UsageFinal): void {
    for (const { upstream_id: id, error, cost } of attempts) {
      const upstream_id = this.#upstreams.of(String(id));
      this.#counters.attempts.inc({ upstream_id, result: error ?? 'ok' });
      if (cost) this.#unpaid(upstream_id, cost);
    }
  }

  #unpaid(upstream_id: string, cost: AttemptCost): void {
    this.#counters.unpaid.inc({ upstream_id, gen_ai_token_type: 'input' }, cost.input_tokens);
    this.#counters.unpaid.inc({ upstream_id, gen_ai_token_type: 'output' }, cost.output_tokens);
  }
}

function exemplarOf(rid: string, trace: TraceContext | null): Record<string, string> {
  return trace
    ? { request_id: rid, trace_id: trace.traceId, span_id: trace.spanId }
    : { request_id: rid };
}
