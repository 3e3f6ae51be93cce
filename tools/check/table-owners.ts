/** Maps each table to the one feature of the control plane that writes it. `idempotency` belongs to the platform, whose `access/` opens sessions for `auth`. */
export const OWNERS: Readonly<Record<string, readonly string[]>> = {
  activity: ['activity_log'],
  alerts: ['alerts', 'alert_deliveries'],
  auth: ['access_tokens', 'sessions'],
  books: ['books_audit', 'books_proofs'],
  budgets: ['budgets', 'budget_periods', 'budget_entries'],
  ceilings: ['ceilings'],
  epochs: ['shard_counts', 'shard_epochs'],
  events: ['stream_events', 'stream_horizon', 'stream_nodes'],
  idempotency: ['idempotency_keys'],
  keys: ['api_keys'],
  incidents: ['error_excerpts', 'refusal_counts', 'refused_requests'],
  'live-state': ['live_state_outbox'],
  models: ['models', 'model_families', 'price_versions'],
  payments: ['payments', 'payouts'],
  'proxy-nodes': ['proxy_nodes'],
  restores: ['restores'],
  routing: ['routes'],
  snapshots: ['snapshots', 'fleet_settings'],
  subscriptions: [
    'subscriptions',
    'token_credits',
    'token_entries',
    'token_lots',
    'token_overdrafts',
  ],
  upstreams: ['upstream_credentials', 'upstreams'],
  usage: [
    'usage_archives',
    'usage_dead_letters',
    'usage_dropped_days',
    'usage_events',
    'usage_events_default',
    'usage_recent',
    'usage_recent_span',
    'usage_rollups',
    'usage_rollups_daily',
    'usage_rollups_kept',
    'usage_rollups_minute',
    'usage_totals',
    'usage_totals_daily',
    'usage_totals_minute',
  ],
  users: ['users'],
  wallet: ['ledger_accounts', 'ledger_entries', 'ledger_transactions'],
};

interface ForeignTables {
  readonly tables: readonly string[];
  readonly reason: string;
  /** Is true when the files may also write the tables. */
  readonly isWriter?: true;
}

/**
 * Lists the read models: files of a feature that name tables of others, which they may only read. Everything else asks the owner's service. Do not
 * extend the list; ask the owner instead. Remove entries that are no longer needed; the test checks both.
 */
export const READ_MODELS: Readonly<Record<string, ForeignTables>> = {
  'books/equalities.ts': {
    tables: [
      'budget_entries',
      'budget_periods',
      'budgets',
      'ledger_accounts',
      'ledger_entries',
      'ledger_transactions',
      'payments',
      'payouts',
      'price_versions',
      'subscriptions',
      'token_credits',
      'token_entries',
      'token_lots',
      'token_overdrafts',
      'usage_dropped_days',
      'usage_events',
      'usage_rollups',
      'usage_rollups_daily',
      'usage_rollups_kept',
      'usage_rollups_minute',
      'usage_totals',
      'usage_totals_daily',
      'usage_totals_minute',
    ],
    reason: 'the audit compares tables of all features at one moment',
  },
  'first-steps/first-steps.sql.ts': {
    tables: [
      'api_keys',
      'ledger_accounts',
      'ledger_entries',
      'models',
      'price_versions',
      'proxy_nodes',
      'routes',
      'subscriptions',
      'upstreams',
      'usage_events',
      'users',
    ],
    reason: 'which of the first steps are done, in one statement',
  },
  'live-state/booked-withdrawals.sql.ts': {
    tables: ['shard_epochs', 'usage_events'],
    reason: 'withdrawals that Redis may have lost since the shard was filled',
  },
  'live-state/live-rows.sql.ts': {
    tables: ['api_keys', 'budget_periods', 'budgets', 'subscriptions', 'token_credits', 'users'],
    reason: 'the rows that live records copy, the revisions of keys and accounts',
    isWriter: true,
  },
  'live-state/lost-tail.sql.ts': {
    tables: ['ceilings', 'api_keys', 'budgets', 'subscriptions', 'token_credits', 'users'],
    reason: 'finds what Redis may have lost, credits among it',
  },
  'reconciliation/drift.sql.ts': {
    tables: [
      'live_state_outbox',
      'shard_epochs',
      'subscriptions',
      'token_credits',
      'usage_dead_letters',
      'usage_events',
    ],
    reason: 'compares balances with Redis at one moment',
  },
  'names/record-names.sql.ts': {
    tables: [
      'access_tokens',
      'api_keys',
      'models',
      'proxy_nodes',
      'routes',
      'subscriptions',
      'upstreams',
      'users',
    ],
    reason: 'finds records of all features by their names, and names those that lists are about',
  },
  'snapshots/read-routing-rows.sql.ts': {
    tables: [
      'model_families',
      'models',
      'price_versions',
      'routes',
      'upstream_credentials',
      'upstreams',
    ],
    reason: 'the snapshot is compiled from one consistent moment',
  },
  'subscriptions/auto-recharge/auto-recharge.service.ts': {
    tables: ['ledger_accounts', 'models', 'price_versions', 'users'],
    reason: 'finds all due recharges in one statement',
  },
  'usage/api/request-names.ts': {
    tables: ['api_keys', 'models', 'upstreams', 'users'],
    reason:
      'pages of requests and groups of statistics with the names of what they used, joined by the database',
  },
  'users/erase-account.sql.ts': {
    tables: [
      'access_tokens',
      'activity_log',
      'api_keys',
      'error_excerpts',
      'idempotency_keys',
      'ledger_accounts',
      'ledger_entries',
      'ledger_transactions',
      'refused_requests',
      'sessions',
      'stream_events',
    ],
    reason: 'erases the data of a person from all tables in one transaction',
    isWriter: true,
  },
};
