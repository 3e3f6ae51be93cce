/** Selects the names of the records that a request used, with `JOIN_NAMES`. A deleted record keeps its name as long as its row exists. */
export const NAME_COLUMNS =
  "u.username, k.name AS key_name, m.name AS model, p.name AS upstream, coalesce((m.failover->>'names_upstream')::boolean, false) AS names_upstream";

/** `of` is the alias of the rows of usage_events. */
export const joinNames = (of: string): string =>
  `LEFT JOIN users u ON u.id = ${of}.user_id
      LEFT JOIN api_keys k ON k.id = ${of}.key_id
      LEFT JOIN models m ON m.id = ${of}.model_id
      LEFT JOIN upstreams p ON p.id = ${of}.upstream_id`;

/** Returns the account of a key as an expression. */
export const ownerOfKey = (keyId: string): string =>
  `(SELECT user_id FROM api_keys WHERE id = ${keyId})`;

/** Returns the accounts of keys as an array. */
export const ownersOfKeys = (keyIds: string): string =>
  `ARRAY(SELECT user_id FROM api_keys WHERE id = ANY(${keyIds}))`;

/** Lists the groupings of statistics, each with the source of a group's name. */
export const GROUPINGS = {
  model: { column: 'model_id', table: 'models', name: 'name' },
  key: { column: 'key_id', table: 'api_keys', name: 'name' },
  user: { column: 'user_id', table: 'users', name: 'username' },
  upstream: { column: 'upstream_id', table: 'upstreams', name: 'name' },
} as const;
