import type { Board } from '../board.ts';
import { quantile } from './quantile.ts';

export const upstream: Board = {
  uid: 'tollgate-upstream',
  title: 'Tollgate: one upstream',
  source: 'prometheus',
  variables: [
    {
      name: 'upstream',
      label: 'Upstream (id)',
      query: 'label_values(tollgate_upstream_attempts_total, upstream_id)',
    },
  ],
  panels: [
    {
      title: 'Attempts',
      description: 'Of all nodes.',
      kind: 'stat',
      unit: 'reqps',
      queries: [
        ['sum(rate(tollgate_upstream_attempts_total{upstream_id="$upstream"}[5m]))', 'attempts'],
      ],
    },
    {
      title: 'Failed',
      description: 'Share of attempts that failed, last hour.',
      kind: 'stat',
      unit: 'percentunit',
      queries: [
        [
          '1 - (sum(rate(tollgate_upstream_attempts_total{upstream_id="$upstream",result="ok"}[1h])) or vector(0)) / sum(rate(tollgate_upstream_attempts_total{upstream_id="$upstream"}[1h]))',
          'failed',
        ],
      ],
    },
    {
      title: 'Resting',
      description: 'The longest rest that a node observes.',
      kind: 'stat',
      unit: 's',
      queries: [['max(tollgate_upstream_resting_seconds{upstream_id="$upstream"})', 'rest']],
    },
    {
      title: 'Accounts it rests for',
      description: 'Accounts whose own requests fail, so that it is left alone for them only.',
      kind: 'stat',
      queries: [['max(tollgate_upstream_resting_accounts{upstream_id="$upstream"})', 'accounts']],
    },
    {
      title: 'In flight',
      description: 'Requests it is answering.',
      kind: 'stat',
      queries: [
        ['sum(tollgate_upstream_requests_in_flight{upstream_id="$upstream"})', 'in flight'],
      ],
    },
    {
      title: 'Attempts by result',
      description: 'ok, or why one failed.',
      kind: 'timeseries',
      unit: 'reqps',
      queries: [
        [
          'sum by (result) (rate(tollgate_upstream_attempts_total{upstream_id="$upstream"}[$__rate_interval]))',
          '{{result}}',
        ],
      ],
    },
    {
      title: 'Probes by result',
      description: "Requests of the gateway's own: ok where callers provoked the failures.",
      kind: 'timeseries',
      unit: 'reqps',
      queries: [
        [
          'sum by (result) (rate(tollgate_route_probes_total{upstream_id="$upstream"}[$__rate_interval]))',
          '{{result}}',
        ],
      ],
    },
    {
      title: 'Time to the head of an answer',
      description: 'Moving average, by node.',
      kind: 'timeseries',
      unit: 's',
      queries: [
        [
          'max by (instance) (tollgate_upstream_latency_seconds{upstream_id="$upstream"})',
          '{{instance}}',
        ],
      ],
    },
    {
      title: 'Tokens that no customer pays',
      description: 'Estimated tokens of failed and hedged attempts, and of probes.',
      kind: 'timeseries',
      queries: [
        [
          'sum by (gen_ai_token_type) (rate(tollgate_unpaid_attempt_tokens_total{upstream_id="$upstream"}[$__rate_interval]))',
          '{{gen_ai_token_type}}',
        ],
      ],
    },
    {
      title: 'Time per output token',
      description: 'Of all upstreams together, by model, 95th percentile.',
      kind: 'timeseries',
      unit: 's',
      queries: [
        [
          quantile(0.95, 'gen_ai_server_time_per_output_token_seconds', 'gen_ai_request_model'),
          '{{gen_ai_request_model}}',
        ],
      ],
    },
    {
      title: 'Tokens of a request',
      description: 'Of all upstreams together, 95th percentile.',
      kind: 'timeseries',
      queries: [
        [quantile(0.95, 'gen_ai_client_token_usage', 'gen_ai_token_type'), '{{gen_ai_token_type}}'],
      ],
    },
  ],
};
