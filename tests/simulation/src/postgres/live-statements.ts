import type { ModelPostgres, Statement } from './model-postgres.ts';
import type { SubscriptionRow } from './rows.ts';
import type { ModelTransaction } from './transaction.ts';

const number = (value: unknown): number => Number(value);

/** Chooses rows by ids, or by `shards, index, after id, limit`. */
function chosen<Row extends { id: number }>(
  rows: readonly Row[],
  parameters: readonly unknown[],
  accountOf: (row: Row) => number,
): Row[] {
  const [ids] = parameters;
  if (Array.isArray(ids)) return rows.filter((row) => ids.includes(row.id));
  const [shards, index, afterId, limit] = parameters.map(Number);
  return rows
    .filter((row) => accountOf(row) % (shards ?? 1) === index && row.id > (afterId ?? 0))
    .toSorted((a, b) => a.id - b.id)
    .slice(0, limit);
}

const accounts: Statement = (db, tx, parameters) =>
  chosen(db.rows.users.all(tx), parameters, ({ id }) => id).map((row) => ({
    ...row,
    budgets: '',
    rates: [],
  }));

const keys: Statement = (db, tx, parameters) =>
  chosen(db.rows.keys.all(tx), parameters, (row) => row.user_id).map((row) => ({
    ...row,
    status: 'enabled',
    expires_at: null,
    in_force: {},
    counts_cache_reads: true,
    rates: [],
    allowed_models: '',
    ip_allowlist: '',
    drain: false,
    revision: 1,
    budgets: '',
  }));

const subscriptions: Statement = (db, tx, parameters) =>
  chosen(db.rows.subscriptions.all(tx), parameters, (row) => row.user_id).map((row) => {
    const isArmed = (row.auto_recharge_amount ?? 0) > 0 && row.auto_recharge_retry_at === null;
    return {
      ...row,
      armed_threshold: isArmed ? row.auto_recharge_threshold : null,
      armed_amount: isArmed ? row.auto_recharge_amount : null,
    };
  });

function creditsOf(db: ModelPostgres, tx: ModelTransaction, id: unknown) {
  return db.rows.credits
    .all(tx)
    .filter((credit) => credit.subscription_id === number(id))
    .toSorted((a, b) => a.seq - b.seq);
}

function promise(db: ModelPostgres, tx: ModelTransaction, kind: string, targetId: number) {
  const id = db.rows.outbox.nextId();
  db.rows.outbox.put(tx, id, { id, kind, target_id: targetId, created_at: tx.nowMs });
  return { id: String(id), kind, target_id: targetId };
}

/** Returns what may have been in the lost end of Redis' file, withdrawals first; `[seconds, from]`. */
const recent: Statement = (db, tx, [seconds, from]) => {
  const fromMs = from instanceof Date ? Math.min(tx.nowMs, from.getTime()) : tx.nowMs;
  const since = fromMs - number(seconds) * 1_000;
  const credited = db.rows.credits.all(tx).filter(({ created_at: at }) => at > since);
  const rows = db.rows.subscriptions.all(tx).toSorted((a, b) => a.id - b.id);
  const ids = (isChosen: (row: SubscriptionRow) => boolean): number[] =>
    rows.filter(isChosen).map(({ id }) => id);
  const changed = new Set([
    ...credited.map((credit) => credit.subscription_id),
    ...ids((row) => row.revised_at > since),
  ]);
  return [
    ...ids((row) => row.withdrawal_id !== null && row.revised_at > since - 86_400_000).map((id) =>
      promise(db, tx, 'withdrawal', id),
    ),
    ...[...changed].toSorted((a, b) => a - b).map((id) => promise(db, tx, 'subscription', id)),
    ...idsOf(db.rows.users.all(tx), since).map((id) => promise(db, tx, 'account', id)),
    ...idsOf(db.rows.keys.all(tx), since).map((id) => promise(db, tx, 'key', id)),
  ];
};

/** Selects the newest entry that Redis has too. */
const newest: Statement = (db, tx) => {
  const times = [
    ...db.rows.subscriptions.all(tx).map((row) => row.revised_at),
    ...[...db.rows.users.all(tx), ...db.rows.keys.all(tx)].map((row) => row.updated_at),
  ];
  return [{ at: times.length === 0 ? null : new Date(Math.max(...times)) }];
};

function idsOf(rows: readonly { id: number; updated_at: number }[], since: number): number[] {
  return rows
    .filter((row) => row.updated_at > since)
    .map(({ id }) => id)
    .toSorted((a, b) => a - b);
}

const overdue: Statement = (db, tx, [afterId]) => {
  const rows = db.rows.outbox
    .all(tx)
    .filter(
      (row) =>
        row.id > number(afterId) &&
        row.created_at < tx.nowMs - 2_000 &&
        !db.rows.outbox.isLockedFor(tx, row.id),
    )
    .toSorted((a, b) => a.id - b.id)
    .slice(0, 200);
  for (const { id } of rows) db.rows.outbox.lock(tx, id);
  return rows.map((row) => ({ ...row, id: String(row.id) }));
};

/** Returns what each subscription's balance in Redis differs by from what the books say it must have been at a mark. */
const drift: Statement = (db, tx, parameters) => {
  const [ids, shards, ms, n, seqs, balances] = parameters as unknown[][];
  return (ids ?? []).flatMap((id, index) => {
    const row = db.rows.subscriptions.get(tx, number(id));
    if (!row) return [];
    const later = creditsOf(db, tx, id).filter(({ seq }) => seq > number(seqs?.[index]));
    const after = db.rows.usage
      .all(tx)
      .filter(
        (usage) =>
          usage.subscription_id === row.id &&
          usage.shard === shards?.[index] &&
          usage.day >= dayOf(tx.nowMs - 2 * 86_400_000) &&
          usage.created_at >= (db.rows.epochs.get(tx, usage.shard ?? '')?.updated_at ?? 0) &&
          isAfter(usage, { ms: number(ms?.[index]), n: number(n?.[index]) }),
      );
    const onTheWay = later
      .filter(({ kind }) => kind !== 'reconciliation')
      .reduce((sum, { delta }) => sum + delta, 0);
    const booked = after.reduce((sum, { delta }) => sum + delta, 0);
    return [
      {
        id: row.id,
        drift: row.balance - row.overdraft - onTheWay + booked - number(balances?.[index]),
        is_repairing: later.some(({ kind }) => kind === 'reconciliation'),
      },
    ];
  });
};

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function isAfter(
  usage: { outbox_ms: number | null; outbox_n: number | null },
  mark: { ms: number; n: number },
): boolean {
  if (usage.outbox_ms === null || usage.outbox_n === null) return false;
  return usage.outbox_ms > mark.ms || (usage.outbox_ms === mark.ms && usage.outbox_n > mark.n);
}

/** Marks with a credit that has no number here, or that lack one for 10 s which no promised write sends; `[ids, seqs]`. */
const misnumbered: Statement = (db, tx, [ids, seqs]) =>
  (ids as number[]).flatMap((id, index) => {
    const seq = number((seqs as number[])[index]);
    const next = db.rows.credits.get(tx, `${id}:${seq + 1}`);
    const isPromised = db.rows.outbox
      .all(tx)
      .some(({ kind, target_id }) => target_id === id && kind !== 'account' && kind !== 'key');
    const isLost = next && next.created_at < tx.nowMs - 10_000 && !isPromised;
    const row = db.rows.subscriptions.get(tx, id);
    return row && (isLost || seq > row.credit_seq) ? [{ id, seq: row.credit_seq }] : [];
  });

/** Returns marks of records that their row never wrote; the parameters are `[ids, generations, revisions, statuses]`. */
const strange: Statement = (db, tx, [ids, generations, revisions, statuses]) =>
  (ids as number[]).flatMap((id, index) => {
    const row = db.rows.subscriptions.get(tx, id);
    if (!row) return [];
    const ahead = number((generations as number[])[index]) - row.generation;
    const revised = number((revisions as number[])[index]) - row.revision;
    const differs = ahead !== 0 || (statuses as string[])[index] !== row.status;
    return ahead > 0 || revised > 0 || (revised === 0 && differs) ? [{ id }] : [];
  });

const ownSubscriptions: Statement = (db, tx, [accounts, models]) =>
  db.rows.subscriptions
    .all(tx)
    .filter((row) =>
      (accounts as number[]).some(
        (id, index) => id === row.user_id && (models as number[])[index] === row.model_id,
      ),
    )
    .map(({ id, user_id, model_id }) => ({ id, user_id, model_id }));

export const LIVE_STATEMENTS: readonly (readonly [string, Statement])[] = [
  ['SELECT id, status, drain, revision, coalesce((SELECT json_agg', accounts],
  ['SELECT users.id, (SELECT json_agg', () => []],
  ['SELECT id, user_id, key_hash, status, expires_at', keys],
  ['SELECT id, user_id, model_id, status, generation, drain', subscriptions],
  [
    'SELECT id, user_id, model_id FROM subscriptions WHERE id = ANY($1::int[])',
    (db, tx, [ids]) =>
      db.rows.subscriptions.all(tx).filter(({ id }) => (ids as number[]).includes(id)),
  ],
  [
    "SELECT id, user_id, model_id FROM subscriptions WHERE status = 'closed' AND balance <> overdraft",
    (db, tx, [afterId]) =>
      db.rows.subscriptions
        .all(tx)
        .filter(
          // A simulation is shorter than a day.
          ({ id, status, balance, overdraft }) =>
            status === 'closed' &&
            (balance > Math.max(overdraft, 0) || overdraft > 0) &&
            id > number(afterId),
        )
        .toSorted((a, b) => a.id - b.id),
  ],
  [
    "SELECT id, user_id, model_id FROM subscriptions WHERE id > $1 AND status <> 'closing'",
    (db, tx, [afterId, limit]) =>
      db.rows.subscriptions
        .all(tx)
        .filter(({ id, status }) => id > number(afterId) && status !== 'closing')
        .toSorted((a, b) => a.id - b.id)
        .slice(0, number(limit)),
  ],
  [
    'FROM price_versions WHERE id = ANY($1::int[])',
    (db, tx, [ids]) =>
      db.rows.prices
        .all(tx)
        .filter(({ id }) => (ids as number[]).includes(id))
        .map(({ weights, ...row }) => ({ ...row, ...weights })),
  ],
  [
    'SELECT seq, delta FROM token_credits WHERE subscription_id = $1 AND seq > $2',
    (db, tx, [id, seq]) => creditsOf(db, tx, id).filter((credit) => credit.seq > number(seq)),
  ],
  ['WITH since AS MATERIALIZED (SELECT least(now(), $2::timestamptz)', recent],
  ['SELECT greatest( (SELECT max(revised_at)', newest],
  [
    'INSERT INTO live_state_outbox (kind, target_id) SELECT * FROM unnest',
    (db, tx, [kinds, ids]) =>
      (kinds as string[]).map((kind, index) =>
        promise(db, tx, kind, number((ids as number[])[index])),
      ),
  ],
  [
    'DELETE FROM live_state_outbox WHERE id = ANY($1::bigint[])',
    (db, tx, [ids]) => {
      for (const id of ids as string[])
        if (db.rows.outbox.get(tx, id)) db.rows.outbox.remove(tx, id);
      return [];
    },
  ],
  [
    'SELECT EXISTS (SELECT FROM live_state_outbox)',
    (db, tx) => [{ is_waiting: db.rows.outbox.all(tx).length > 0 }],
  ],
  [
    'SELECT id FROM live_state_outbox WHERE created_at <',
    (db, tx) =>
      db.rows.outbox
        .all(tx)
        .filter((row) => row.created_at < tx.nowMs - 2_000)
        .slice(0, 1),
  ],
  ['SELECT id, kind, target_id FROM live_state_outbox WHERE id > $1', overdue],
  ['JOIN unnest($1::int[], $2::bigint[]) AS m(id, cseq)', misnumbered],
  ['AS m(id, generation, revision, status)', strange],
  ['AS v(user_id, model_id) USING (user_id, model_id)', ownSubscriptions],
  [
    'JOIN unnest($1::int[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]) AS m',
    drift,
  ],
];
