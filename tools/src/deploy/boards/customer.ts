import type { Board } from '../board.ts';

const ROLLUPS = 'usage_rollups WHERE user_id = $account AND $__timeFilter(hour)';

/** Metrics never name customers: this board reads the roll-ups of the ledger. */
export const customer: Board = {
  uid: 'tollgate-customer',
  title: 'Tollgate: one customer',
  source: 'postgres',
  variables: [
    {
      name: 'account',
      label: 'Account',
      query:
        'SELECT username AS __text, id AS __value FROM users WHERE deleted_at IS NULL ORDER BY username LIMIT 1000',
    },
  ],
  panels: [
    {
      title: 'Wallet',
      description: 'In units of the currency.',
      kind: 'stat',
      queries: [
        [
          "SELECT balance / 1000000.0 AS wallet FROM ledger_accounts WHERE kind = 'wallet' AND user_id = $account",
          'wallet',
        ],
      ],
    },
    {
      title: 'Requests',
      description: 'In the period shown.',
      kind: 'stat',
      queries: [[`SELECT coalesce(sum(requests), 0) AS requests FROM ${ROLLUPS}`, 'requests']],
    },
    {
      title: 'Charged tokens',
      description: 'In the period shown.',
      kind: 'stat',
      queries: [[`SELECT coalesce(sum(charge), 0) AS charge FROM ${ROLLUPS}`, 'charge']],
    },
    {
      title: 'Errors',
      description: 'Share of requests with an error, in the period shown.',
      kind: 'stat',
      unit: 'percentunit',
      queries: [
        [
          `SELECT coalesce(sum(errors)::float / nullif(sum(requests), 0), 0) AS errors FROM ${ROLLUPS}`,
          'errors',
        ],
      ],
    },
    {
      title: 'Requests an hour',
      description: 'By model.',
      kind: 'timeseries',
      queries: [
        [
          'SELECT hour AS time, name AS metric, sum(requests) AS value FROM usage_rollups JOIN models ON models.id = model_id WHERE user_id = $account AND $__timeFilter(hour) GROUP BY 1, 2 ORDER BY 1',
          '',
        ],
      ],
    },
    {
      title: 'Charged tokens an hour',
      description: 'By model.',
      kind: 'timeseries',
      queries: [
        [
          'SELECT hour AS time, name AS metric, sum(charge) AS value FROM usage_rollups JOIN models ON models.id = model_id WHERE user_id = $account AND $__timeFilter(hour) GROUP BY 1, 2 ORDER BY 1',
          '',
        ],
      ],
    },
    {
      title: 'Subscriptions',
      description: 'Tokens left, and the overdraft.',
      kind: 'table',
      queries: [
        [
          'SELECT name AS model, subscriptions.status, balance AS tokens, overdraft FROM subscriptions JOIN models ON models.id = model_id WHERE user_id = $account ORDER BY name',
          '',
        ],
      ],
    },
  ],
};
