import {
  BoundedLabel,
  readTraceparent,
  type AttemptCost,
  type UsageFinal,
} from '@tollgate/contracts';
import type { OpenMetricsContentType, Registry } from 'prom-client';
import type { Exemplary } from './instruments.ts';
import { CHARGED, operationOf, tokensOf } from '../observe/gen-ai.ts';
import type { Served } from '../observe/observed-request.ts';
import type { Refused } from '../observe/refusal-log.ts';
import type { KeptLimit } from '../pipeline/answers/kept-events.ts';
import type { Probed } from '../upstream/route-probes.ts';
import { requestCounters, requestHistograms } from './request-instruments.ts';

/** The conventions have two types; cached input is input. */
const SIDES = [
  { type: 'input', side: 'prompt' },
  { type: 'output', side: 'output' },
] as const;
/** Metrics name at most this many upstreams; an installation has a few dozen. */
const UPSTREAMS_MAX = 200;

/**
 * Counts requests, under OpenTelemetry's names where they exist (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/). Labels are
 * bounded: never a key, an account or a user.
 */
export class RequestMetrics {
  readonly #models: BoundedLabel;
  readonly #upstreams = new BoundedLabel(UPSTREAMS_MAX);
  readonly #histograms: ReturnType<typeof requestHistograms>;
  readonly #counters: ReturnType<typeof requestCounters>;

  /** `modelsMax` models have their own figures; the others share `_other`. */
  constructor(registry: Registry<OpenMetricsContentType>, { modelsMax }: { modelsMax: number }) {
    this.#models = new BoundedLabel(modelsMax);
    this.#histograms = requestHistograms(registry);
    this.#counters = requestCounters(registry);
  }

  served(served: Served): void {
    const { method, route, status, durationMs } = served;
    this.#histograms.http.observe(durationMs / 1000, served, method, route, String(status));
  }

  /** Counts an admitted request that has ended. `excessTokens` are its prompt tokens that were reported above the bound. */
  ended(
    rid: string,
    final: UsageFinal,
    { model: name, excessTokens = 0 }: { model: string; excessTokens?: number },
  ): void {
    const model = this.#models.of(name);
    const operation = operationOf(final.protocol);
    const by = { rid, trace: readTraceparent(final.traceparent) };
    const { duration, usage } = this.#histograms;
    duration.observe(final.duration_ms / 1000, by, operation, model, final.outcome);
    if (final.is_stream) this.#streamed(final, by, model);
    for (const { type, side } of SIDES) {
      const tokens = tokensOf(final, side);
      if (tokens > 0) usage.observe(tokens, by, operation, model, type);
    }
    for (const { name: tokenClass, field, unit } of CHARGED) {
      const count = final[field];
      if (!count) continue;
      if (unit === 'call') this.#counters.calls.inc(count, model, tokenClass);
      else this.#counters.tokens.inc(count, model, tokenClass, final.basis);
    }
    this.#attempted(final);
    if (excessTokens === 0) return;
    const upstream = this.#upstreams.of(String(final.upstream_id));
    this.#counters.excess.inc(excessTokens, upstream, model);
  }

  /** Counts a request of the gateway itself, which the installation pays. */
  probed({ upstreamId, result, cost }: Probed): void {
    const upstream = this.#upstreams.of(String(upstreamId));
    this.#counters.probes.inc(1, upstream, result);
    this.#unpaid(upstream, cost);
  }

  refused({ status, code, budget }: Pick<Refused, 'status' | 'code' | 'budget'>): void {
    this.#counters.refusals.inc(1, String(status), code);
    if (budget) this.#counters.budgetRefusals.inc(1, budget.scope, budget.unit);
  }

  keptNothing(limit: KeptLimit): void {
    this.#counters.notKept.inc(1, limit);
  }

  #streamed(final: UsageFinal, by: Exemplary, model: string): void {
    const { first_token_ms: firstTokenMs, duration_ms: durationMs } = final;
    if (firstTokenMs === null) return;
    this.#histograms.firstToken.observe(firstTokenMs / 1000, by, model);
    const furtherTokens = tokensOf(final, 'output') - 1;
    if (furtherTokens < 1) return;
    const perToken = Math.max(0, durationMs - firstTokenMs) / 1000 / furtherTokens;
    this.#histograms.perToken.observe(perToken, by, model);
  }

  #attempted({ attempts }: UsageFinal): void {
    for (const { upstream_id: id, error, cost } of attempts) {
      const upstream = this.#upstreams.of(String(id));
      this.#counters.attempts.inc(1, upstream, error ?? 'ok');
      if (cost) this.#unpaid(upstream, cost);
    }
  }

  #unpaid(upstream: string, cost: AttemptCost): void {
    this.#counters.unpaid.inc(cost.input_tokens, upstream, 'input');
    this.#counters.unpaid.inc(cost.output_tokens, upstream, 'output');
  }
}
