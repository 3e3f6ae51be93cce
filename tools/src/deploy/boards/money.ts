import type { Board } from '../board.ts';
import { quantile } from './quantile.ts';

export const money: Board = {
  uid: 'tollgate-money',
  title: 'Tollgate: money',
  source: 'prometheus',
  variables: [],
  panels: [
    {
      title: 'Wallets',
      description: 'Sum of all wallets, in units of the currency.',
      kind: 'stat',
      queries: [['max(tollgate_ledger_balance{kind="wallet"})', 'wallets']],
    },
    {
      title: 'Revenue',
      description: 'What purchases of tokens have brought, less refunds.',
      kind: 'stat',
      queries: [['max(tollgate_ledger_balance{kind="revenue"})', 'revenue']],
    },
    {
      title: 'Dead letters',
      description: 'Usage events that could not be booked.',
      kind: 'stat',
      queries: [['max(tollgate_dead_letters_open)', 'open']],
    },
    {
      title: 'Drift',
      description: 'Balances that differed from the ledger; the objective is 0.',
      kind: 'stat',
      queries: [['max(tollgate_alerts_open{rule="drift"})', 'open']],
    },
    {
      title: 'Ledger accounts',
      description: 'All kinds add up to 0.',
      kind: 'timeseries',
      queries: [['max by (kind, currency) (tollgate_ledger_balance)', '{{kind}} {{currency}}']],
    },
    {
      title: 'Largest use of budgets',
      description: 'The share of its amount that the fullest budget of a scope and unit has used.',
      kind: 'timeseries',
      unit: 'percentunit',
      queries: [
        ['max by (scope, unit) (tollgate_budget_used_share)', '{{scope}} {{unit}}'],
        [
          'max by (scope) (sum by (scope, instance) (tollgate_budgets{is_used_up="true"}))',
          '{{scope}}: used up',
        ],
      ],
    },
    {
      title: 'Refusals by budgets',
      description: 'Requests that a budget did not cover.',
      kind: 'timeseries',
      unit: 'reqps',
      queries: [
        [
          'sum by (scope, unit) (rate(tollgate_budget_refusals_total[$__rate_interval]))',
          '{{scope}} {{unit}}',
        ],
      ],
    },
    {
      title: 'Charged tokens booked',
      description: 'By all control planes.',
      kind: 'timeseries',
      unit: 'short',
      queries: [['sum(rate(tollgate_charged_tokens_booked_total[$__rate_interval]))', 'tokens/s']],
    },
    {
      title: 'Settlement lag',
      description: 'From the end of a request to its booking; the objective is 5 s for 99.9 %.',
      kind: 'timeseries',
      unit: 's',
      queries: [
        [quantile(0.5, 'tollgate_settlement_lag_seconds'), 'p50'],
        [quantile(0.999, 'tollgate_settlement_lag_seconds'), 'p99.9'],
      ],
    },
    {
      title: 'Events booked',
      description: 'By kind.',
      kind: 'timeseries',
      queries: [
        ['sum by (kind) (rate(tollgate_usage_events_booked_total[$__rate_interval]))', '{{kind}}'],
      ],
    },
    {
      title: 'Usage on its way',
      description: 'Where it waits between node and ledger.',
      kind: 'timeseries',
      queries: [
        ['sum(tollgate_unacknowledged_finals)', 'in journals'],
        ['max(tollgate_outbox_events)', 'in outboxes'],
        ['sum(max by (state) (tollgate_queue_jobs))', 'jobs'],
        ['max(tollgate_live_writes_waiting)', 'changes for Redis'],
      ],
    },
    {
      title: 'Age of what waits',
      description: 'The oldest event of an outbox, the oldest job.',
      kind: 'timeseries',
      unit: 's',
      queries: [
        ['max(tollgate_outbox_oldest_seconds)', 'outbox'],
        ['max(tollgate_queue_oldest_seconds)', 'queue'],
        ['max(tollgate_live_writes_oldest_seconds)', 'changes for Redis'],
      ],
    },
    {
      title: 'Holds',
      description: 'Open holds.',
      kind: 'timeseries',
      queries: [['max(tollgate_holds_open)', 'holds']],
    },
    {
      title: 'Tokens by basis',
      description: 'reported: as the provider says; otherwise counted by the node.',
      kind: 'timeseries',
      queries: [['sum by (basis) (rate(tollgate_tokens_total[$__rate_interval]))', '{{basis}}']],
    },
    {
      title: 'Calls of tools',
      description: "Calls of providers' tools that are charged, such as searches.",
      kind: 'timeseries',
      queries: [
        ['sum by (class) (rate(tollgate_tool_calls_total[$__rate_interval]))', '{{class}}'],
      ],
    },
    {
      title: 'Tokens that no customer pays',
      description:
        'Estimated tokens of failed and hedged attempts, and reported input above its bound.',
      kind: 'timeseries',
      queries: [
        [
          'sum by (upstream_id) (rate(tollgate_unpaid_attempt_tokens_total[$__rate_interval]))',
          'upstream {{upstream_id}}',
        ],
        [
          'sum by (upstream_id) (rate(tollgate_prompt_excess_tokens_total[$__rate_interval]))',
          'upstream {{upstream_id}}: input above its bound',
        ],
      ],
    },
    {
      title: 'Admitted without Redis',
      description: 'Tokens held or used that Redis does not know of yet.',
      kind: 'timeseries',
      queries: [
        ['sum(tollgate_fail_open_tokens)', 'tokens'],
        ['sum(tollgate_fail_open_admissions)', 'requests since the start'],
      ],
    },
    {
      title: 'Open alerts',
      description: 'Of the control plane, by rule.',
      kind: 'timeseries',
      queries: [['max by (rule) (tollgate_alerts_open) > 0', '{{rule}}']],
    },
    {
      title: 'Dead letters by age',
      description: 'Age of the oldest open one.',
      kind: 'timeseries',
      unit: 's',
      queries: [['max(tollgate_dead_letters_oldest_seconds)', 'oldest']],
    },
  ],
};
