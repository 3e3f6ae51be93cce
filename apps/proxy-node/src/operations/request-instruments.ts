import type { OpenMetricsContentType, Registry } from 'prom-client';
import { LiveCounter, LiveHistogram } from './instruments.ts';

const LATENCY_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const PER_TOKEN_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1];
const TOKENS = [1, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576];

type OpenRegistry = Registry<OpenMetricsContentType>;

/** Returns the histograms that measure each request. */
export function requestHistograms(registry: OpenRegistry) {
  const histogram = histogramsOf(registry);
  return {
    http: histogram(
      'http_server_request_duration_seconds',
      'Duration of requests, to the last byte.',
      LATENCY_SECONDS,
      ['http_request_method', 'http_route', 'http_response_status_code'],
    ),
    duration: histogram(
      'gen_ai_client_operation_duration_seconds',
      'Duration of admitted requests.',
      LATENCY_SECONDS,
      ['gen_ai_operation_name', 'gen_ai_request_model', 'outcome'],
    ),
    firstToken: histogram(
      'gen_ai_server_time_to_first_token_seconds',
      'Time to the first content of streams.',
      LATENCY_SECONDS,
      ['gen_ai_request_model'],
    ),
    perToken: histogram(
      'gen_ai_server_time_per_output_token_seconds',
      'Time for each output token of a stream after the first.',
      PER_TOKEN_SECONDS,
      ['gen_ai_request_model'],
    ),
    usage: histogram('gen_ai_client_token_usage', 'Tokens of admitted requests.', TOKENS, [
      'gen_ai_operation_name',
      'gen_ai_request_model',
      'gen_ai_token_type',
    ]),
  };
}

function histogramsOf(registry: OpenRegistry) {
  return (
    name: string,
    help: string,
    bounds: readonly number[],
    labelNames: readonly string[],
  ): LiveHistogram => new LiveHistogram(registry, { name, help, bounds, labelNames });
}

type CounterOf = (name: string, help: string, labelNames: readonly string[]) => LiveCounter;

/** Returns the counters that count each request. */
export function requestCounters(registry: OpenRegistry) {
  const counter: CounterOf = (name, help, labelNames) =>
    new LiveCounter(registry, { name, help, labelNames });
  return {
    tokens: counter('tollgate_tokens_total', 'Tokens by the class they are charged as.', [
      'gen_ai_request_model',
      'class',
      'basis',
    ]),
    calls: counter('tollgate_tool_calls_total', "Calls of providers' tools that are charged.", [
      'gen_ai_request_model',
      'class',
    ]),
    attempts: counter('tollgate_upstream_attempts_total', 'Attempts at upstreams.', [
      'upstream_id',
      'result',
    ]),
    unpaid: counter(
      'tollgate_unpaid_attempt_tokens_total',
      'Estimated tokens of attempts and probes that providers may bill and no customer pays.',
      ['upstream_id', 'gen_ai_token_type'],
    ),
    probes: counter(
      'tollgate_route_probes_total',
      "Requests of the gateway's own that show whether a route is down or its callers provoke failures.",
      ['upstream_id', 'result'],
    ),
    excess: counter(
      'tollgate_prompt_excess_tokens_total',
      'Prompt tokens that upstreams reported above their bound and no customer pays.',
      ['upstream_id', 'gen_ai_request_model'],
    ),
    notKept: counter(
      'tollgate_streams_not_kept_total',
      'Streams of which nothing is kept, so that no other upstream can end them, by the limit that they met.',
      ['limit'],
    ),
    ...refusalCounters(counter),
  };
}

function refusalCounters(counter: CounterOf) {
  return {
    refusals: counter(
      'tollgate_refusals_total',
      'Requests refused or failed before their first byte.',
      ['status', 'code'],
    ),
    budgetRefusals: counter(
      'tollgate_budget_refusals_total',
      'Requests that a budget did not cover, by what it counts and of whom.',
      ['scope', 'unit'],
    ),
  };
}
