import { WINDOW_NAMES } from '@tollgate/contracts';

/** Lists the columns that a table shows first; JSON and CSV contain all. */
export const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  'users list': ['id', 'username', 'role', 'status', 'created_at'],
  'models list': ['id', 'name', 'kind', 'is_on_shelf', 'owned_by', 'max_output_tokens'],
  'keys list': ['id', 'user_id', 'name', 'key_prefix', 'status', 'allowed_models', ...WINDOW_NAMES],
  'upstreams list': ['id', 'name', 'protocol', 'base_url', 'enabled'],
  'routing list': [
    'id',
    'model_id',
    'upstream_id',
    'upstream_model',
    'priority',
    'weight',
    'enabled',
  ],
  'nodes list': ['id', 'name', 'state', 'version', 'last_seen_at'],
  'alerts list': ['id', 'severity', 'rule', 'subject', 'status', 'raised_at', 'message'],
  'usage list': [
    'rid',
    'started_at',
    'model',
    'outcome',
    'input_tokens',
    'output_tokens',
    'charge',
  ],
  'wallet logs': ['id', 'created_at', 'kind', 'amount', 'balance_after', 'note'],
  'activity list': ['id', 'at', 'actor_name', 'action', 'target_kind', 'target_id'],
  'snapshots list': ['version', 'created_at', 'rollback_of', 'pinned', 'checksum'],
};
