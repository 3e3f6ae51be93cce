/** A backup of an earlier release is marked in the transaction that loads it, before the migration that makes this table runs. */
export const CREATE_RESTORES = `
  CREATE TABLE IF NOT EXISTS restores (
    backup_id uuid PRIMARY KEY,
    taken_at timestamptz NOT NULL,
    restored_at timestamptz NOT NULL DEFAULT now(),
    -- By subscription, as \`tollgate-ops loss\` has read it from Redis; null until then.
    loss jsonb,
    -- Redis was filled again from these books. Until then balances are not reconciled: the difference is the loss.
    closed_at timestamptz
  )`;
