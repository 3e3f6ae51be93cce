import type { Board } from '../board.ts';
import { quantile } from './quantile.ts';

const REQUESTS = 'http_server_request_duration_seconds_count{http_route=~"/v1/.*"}';

export const fleet: Board = {
  uid: 'tollgate-fleet',
  title: 'Tollgate: fleet',
  source: 'prometheus',
  variables: [],
  panels: [
    {
      title: 'Nodes that take requests',
      description: 'Workers of nodes that are ready.',
      kind: 'stat',
      queries: [['sum(tollgate_ready)', 'ready']],
    },
    {
      title: 'Requests',
      description: 'Requests to the model routes.',
      kind: 'stat',
      unit: 'reqps',
      queries: [[`sum(rate(${REQUESTS}[5m]))`, 'all']],
    },
    {
      title: 'Failed',
      description: 'Share of requests that failed, of the last hour; the objective is 0.1 %.',
      kind: 'stat',
      unit: 'percentunit',
      queries: [['tollgate:availability_errors:ratio_rate1h', 'failed']],
    },
    {
      title: 'Open critical alerts',
      description: 'Alerts of the control plane.',
      kind: 'stat',
      queries: [['sum(max by (rule) (tollgate_alerts_open{severity="critical"}))', 'critical']],
    },
    {
      title: 'Requests by status',
      description: '499: the client left before an answer.',
      kind: 'timeseries',
      unit: 'reqps',
      queries: [
        [
          `sum by (http_response_status_code) (rate(${REQUESTS}[$__rate_interval]))`,
          '{{http_response_status_code}}',
        ],
      ],
    },
    {
      title: 'Refusals by code',
      description: 'Requests refused or failed before their first byte.',
      kind: 'timeseries',
      unit: 'reqps',
      queries: [['sum by (code) (rate(tollgate_refusals_total[$__rate_interval]))', '{{code}}']],
    },
    {
      title: 'Time to the first token',
      description: 'Streams, all models.',
      kind: 'timeseries',
      unit: 's',
      queries: [
        [quantile(0.5, 'gen_ai_server_time_to_first_token_seconds'), 'p50'],
        [quantile(0.99, 'gen_ai_server_time_to_first_token_seconds'), 'p99'],
      ],
    },
    {
      title: 'Duration of requests',
      description: 'Admitted requests by model, 95th percentile.',
      kind: 'timeseries',
      unit: 's',
      queries: [
        [
          quantile(0.95, 'gen_ai_client_operation_duration_seconds', 'gen_ai_request_model'),
          '{{gen_ai_request_model}}',
        ],
      ],
    },
    {
      title: 'Outcomes',
      description: 'How admitted requests ended.',
      kind: 'timeseries',
      unit: 'reqps',
      queries: [
        [
          'sum by (outcome) (rate(gen_ai_client_operation_duration_seconds_count[$__rate_interval]))',
          '{{outcome}}',
        ],
      ],
    },
    {
      title: 'In flight',
      description: 'Requests being served, by node.',
      kind: 'timeseries',
      queries: [
        ['sum by (instance) (tollgate_requests_in_flight)', '{{instance}}'],
        ['sum by (instance) (tollgate_background_responses)', '{{instance}}, in the background'],
      ],
    },
    {
      title: 'Kept events',
      description:
        'Bytes that streams keep, so that another upstream can end them; 64 MiB a node at most.',
      kind: 'timeseries',
      unit: 'bytes',
      queries: [['sum by (instance) (tollgate_kept_event_bytes)', '{{instance}}']],
    },
    {
      title: 'Streams not kept',
      description: 'Streams a second that no other upstream can end, by the limit they met.',
      kind: 'timeseries',
      queries: [
        [
          'sum by (instance, limit) (rate(tollgate_streams_not_kept_total[$__rate_interval]))',
          '{{instance}}, {{limit}}',
        ],
      ],
    },
    {
      title: 'CPU',
      description: 'Cores used; a worker has one.',
      kind: 'timeseries',
      queries: [
        [
          'sum by (instance) (rate(process_cpu_seconds_total{job=~"tollgate-.*"}[$__rate_interval]))',
          '{{instance}}',
        ],
      ],
    },
    {
      title: 'Event-loop delay',
      description: '99th percentile; more than 0.25 s: the process is short of CPU.',
      kind: 'timeseries',
      unit: 's',
      queries: [
        [
          'max by (instance) (nodejs_eventloop_lag_p99_seconds{job=~"tollgate-.*"})',
          '{{instance}}',
        ],
      ],
    },
    {
      title: 'Configuration version',
      description: 'Published, and in use by each node.',
      kind: 'timeseries',
      queries: [
        ['max(tollgate_snapshot_published_version)', 'published'],
        ['min by (instance) (tollgate_snapshot_version)', '{{instance}}'],
      ],
    },
    {
      title: 'Registered nodes',
      description: 'By the state they report.',
      kind: 'timeseries',
      queries: [['max by (state) (tollgate_nodes)', '{{state}}']],
    },
    {
      title: 'Administration interface',
      description: 'Requests by status.',
      kind: 'timeseries',
      unit: 'reqps',
      queries: [
        [
          'sum by (http_response_status_code) (rate(http_server_request_duration_seconds_count{http_route=~"/admin-api/.*"}[$__rate_interval]))',
          '{{http_response_status_code}}',
        ],
      ],
    },
    {
      title: 'PostgreSQL connections',
      description: 'Of all control planes; waiting: callers without one.',
      kind: 'timeseries',
      queries: [['sum by (state) (tollgate_postgresql_connections)', '{{state}}']],
    },
  ],
};
