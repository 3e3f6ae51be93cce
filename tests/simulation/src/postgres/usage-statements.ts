import type { ModelPostgres, Statement } from './model-postgres.ts';
import type { ModelTransaction } from './transaction.ts';
import { copyUsage, insertUsage } from './write-usage.ts';

const text = (value: unknown): string => String(value);
const number = (value: unknown): number => Number(value);

const insertLetters: Statement = (db, tx, parameters) => {
  const [rids, seqs, deltas, payloads, reasons, , requests] = parameters as string[][];
  const booked: { id: string }[] = [];
  for (const [index, rid] of (rids ?? []).entries())
    db.rows.letters.lock(tx, `${rid}:${seqs?.[index] ?? ''}`);
  for (const [index, rid] of (rids ?? []).entries()) {
    const seq = seqs?.[index] ?? '';
    const request = requests?.[index];
    const key = `${rid}:${seq}`;
    const isBooked = request != null && db.rows.usage.get(tx, `${request.toLowerCase()}:${seq}`);
    if (isBooked || db.rows.letters.get(tx, key)) continue;
    db.rows.letters.put(tx, key, {
      rid,
      seq,
      delta: deltas?.[index] ?? '',
      payload: payloads?.[index] ?? '',
      reason: reasons?.[index] ?? '',
    });
    booked.push({ id: key });
  }
  return booked;
};

const adopt: Statement = (db, tx, parameters, sql) => {
  const [, all, seqs] = parameters as [unknown, string[], number[]];
  for (const [index, rid] of all.entries())
    db.rows.usage.lock(tx, `${rid.toLowerCase()}:${seqs[index]}`);
  return adoptLocked(db, tx, parameters, sql);
};

const adoptLocked: Statement = (db, tx, parameters) => {
  const [, rids, seqs, shards, ofEpochs, places, deltas, corrected] = parameters as [
    ...[unknown, string[], number[], string[], string[], string[], string[]],
    (number | null)[],
  ];
  const adopted: object[] = [];
  for (const [index, rid] of rids.entries()) {
    const key = `${rid.toLowerCase()}:${seqs[index]}`;
    const row = db.rows.usage.get(tx, key);
    const filled = db.rows.epochs.all(tx).find(({ epoch }) => epoch === ofEpochs[index]);
    const isOpened = corrected[index] != null && row && row.created_at < (filled?.updated_at ?? 0);
    if (!row || (row.kind === 'withdraw' && row.seq !== 2) || (row.shard !== null && !isOpened))
      continue;
    const [ms, n] = (places[index] ?? '').split('-').map(Number);
    db.rows.usage.put(tx, key, {
      ...row,
      shard: shards[index] ?? null,
      outbox_ms: ms ?? null,
      outbox_n: n ?? null,
    });
    const { subscription_id, seq, delta, charge } = row;
    const user_id = db.rows.subscriptions.get(tx, subscription_id)?.user_id;
    const use = { subscription_id, user_id, seq, delta, charge, budgets: null, reported: null };
    adopted.push({ ...use, debited: number(deltas[index]) - (corrected[index] ?? 0) });
  }
  return [adopted, adopted.length];
};

const bookedByRid: Statement = (db, tx, [, rids]) =>
  [...new Set((rids as string[]).map((rid) => rid.toLowerCase()))].flatMap((rid) =>
    [0, 1].flatMap((seq) => {
      const row = db.rows.usage.get(tx, `${rid}:${seq}`);
      return row && row.kind !== 'withdraw'
        ? [{ rid, seq, kind: row.kind, delta: row.delta, charge: row.charge }]
        : [];
    }),
  );

const chargedOf: Statement = (db, tx, [, rids]) =>
  (rids as string[])
    .filter((rid) => db.rows.usage.get(tx, `${rid.toLowerCase()}:0`))
    .map((rid) => ({ rid }));

const firstLetters: Statement = (db, tx, [rids]) =>
  (rids as string[]).flatMap((rid) => db.rows.letters.get(tx, `${rid}:0`) ?? []);

/** Returns the latest withdrawals of a subscription; the parameters are `[id, day of the last one]`. */
const bookedWithdrawals: Statement = (db, tx, [id, lastDay, shard]) => {
  const early = dayOf(tx.nowMs - 2 * 86_400_000);
  const from = text(lastDay) < early ? text(lastDay) : early;
  return db.rows.usage
    .all(tx)
    .filter(
      (row) =>
        row.subscription_id === number(id) &&
        row.kind === 'withdraw' &&
        row.day >= from &&
        row.created_at > tx.nowMs - 86_400_000 &&
        row.created_at > (db.rows.epochs.get(tx, text(shard))?.updated_at ?? 0) &&
        (row.seq === 0 || (row.outbox_ms !== null && row.outbox_ms > tx.nowMs - 14 * 60_000)),
    )
    .toSorted((a, b) => b.created_at - a.created_at)
    .map(({ rid, seq, delta, outbox_ms }) => ({ rid, seq, delta, outbox_ms }));
};

type Asked = [id: string, subscription: number, day: unknown];

function withdrawalsThat(
  isKnown: (db: ModelPostgres, tx: ModelTransaction, asked: Asked) => boolean,
): Statement {
  return (db, tx, [ids, subscriptions, days]) =>
    (ids as string[]).flatMap((given, index) => {
      const id = given.toLowerCase();
      const subscription = number((subscriptions as number[])[index]);
      return isKnown(db, tx, [id, subscription, (days as unknown[] | undefined)?.[index]])
        ? [{ id, subscription_id: subscription }]
        : [];
    });
}

/** Selects withdrawals that are open, or booked in the token ledger. */
const begunWithdrawals = withdrawalsThat(
  (db, tx, [id, subscription]) =>
    db.rows.subscriptions.get(tx, subscription)?.withdrawal_id === id ||
    db.rows.entries
      .all(tx)
      .some(
        (row) =>
          row.subscription_id === subscription &&
          row.kind === 'withdrawal' &&
          row.reference === `withdrawal:${id}:0`,
      ),
);

/** Selects withdrawals that are booked as usage on their day. */
const withdrawalsOfUsage = withdrawalsThat((db, tx, [id, subscription, day]) => {
  const usage = db.rows.usage.get(tx, `${id}:0`);
  return (
    usage?.kind === 'withdraw' && usage.subscription_id === subscription && usage.day === text(day)
  );
});

const sharedEpochLock: Statement = (db, tx, [indexes]) => {
  for (const index of indexes as number[])
    db.advisoryLock(tx, `epoch:${index}`, { isShared: true });
  return [];
};
const epochLock: Statement = (db, tx, [indexes]) => {
  for (const index of indexes as number[])
    db.advisoryLock(tx, `epoch:${index}`, { isShared: false });
  return [];
};
/** Its numbers are in the text. */
const oneEpochLock: Statement = (db, tx, _, sql) => {
  db.advisoryLock(tx, `epoch:${number(/, (\d+)\)/.exec(sql)?.[1])}`, { isShared: false });
  return [];
};

/** Its numbers are in the text. */
const tryLock: Statement = (db, tx, _, sql) => {
  const keys = /xact_lock\(([\d, ]+)\)/.exec(sql)?.[1]?.split(', ') ?? [];
  const kind = keys.length === 1 ? 'one' : 'two';
  return [{ got: db.tryAdvisoryLock(tx, `${kind}:${keys.join(':')}`) }];
};

const dropDays: Statement = (db, tx, [before]) => {
  const limit = text(before);
  for (const { rid, seq, day } of db.rows.usage.all(tx))
    if (day < limit) db.rows.usage.remove(tx, `${rid}:${seq}`);
  return [];
};

/** Lists nodes that are registered, without credentials of their own. */
const NODES = ['node-a', 'node-b'].map((name) => ({
  name,
  credential_hashes: [],
  deleted_at: null,
}));

function before(db: ModelPostgres, tx: ModelTransaction): string {
  return db.rows.droppedDays.get(tx, 1)?.before ?? '';
}

/** Writes a time in UTC like PostgreSQL. */
function timestampText(ms: number): string {
  return new Date(ms)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.?0*Z$/, '+00');
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

export const USAGE_STATEMENTS: readonly (readonly [string, Statement])[] = [
  ['INSERT INTO usage_events (', insertUsage],
  ['COPY usage_events (', copyUsage],
  ['SELECT clock_timestamp()::text AS now', (db) => [{ now: timestampText(db.nowMs) }]],
  ['INSERT INTO usage_dead_letters', insertLetters],
  ['UPDATE usage_events u SET shard', adopt],
  ['SELECT u.rid, u.seq, u.kind, u.delta, u.charge FROM usage_events u', bookedByRid],
  ['SELECT w.rid FROM unnest($1::date[], $2::uuid[]) AS w(day, rid)', chargedOf],
  ['SELECT rid, delta, payload FROM usage_dead_letters WHERE rid', firstLetters],
  [
    "SELECT rid, seq, delta, outbox_ms FROM usage_events WHERE subscription_id = $1 AND kind = 'withdraw'",
    bookedWithdrawals,
  ],
  ['SELECT w.id, w.subscription_id FROM unnest($1::uuid[], $2::int[]) AS', begunWithdrawals],
  [
    'SELECT w.id, w.subscription_id FROM unnest($1::uuid[], $2::int[], $3::date[]) AS',
    withdrawalsOfUsage,
  ],
  ['FROM budgets b WHERE b.user_id = ANY', () => []],
  ['INSERT INTO usage_rollups', () => []],
  ['INSERT INTO usage_totals', () => []],
  ['SELECT pg_advisory_xact_lock_shared(7001004, i)', sharedEpochLock],
  ['SELECT pg_advisory_xact_lock(7001004, i)', epochLock],
  ['SELECT pg_advisory_xact_lock(7001004, ', oneEpochLock],
  [
    'SELECT pg_advisory_xact_lock_shared($1)',
    (db, tx, [key]) => {
      db.advisoryLock(tx, `one:${number(key)}`, { isShared: true });
      return [];
    },
  ],
  [
    'SELECT pg_advisory_xact_lock($1)',
    (db, tx, [key]) => {
      db.advisoryLock(tx, `one:${number(key)}`, { isShared: false });
      return [];
    },
  ],
  ['SET LOCAL', () => []],
  ['SELECT pg_try_advisory_xact_lock', tryLock],
  ['FROM proxy_nodes', () => NODES],
  ['SELECT 1 FROM restores WHERE closed_at IS NULL', () => []],
  ['SELECT max(restored_at)::text AS since FROM restores', () => [{ since: null }]],
  ['FROM usage_dropped_days', (db, tx) => [{ before: before(db, tx) }]],
  [
    'UPDATE usage_dropped_days SET before',
    (db, tx, [day]) => {
      db.rows.droppedDays.lock(tx, 1);
      const latest = before(db, tx) > text(day) ? before(db, tx) : text(day);
      db.rows.droppedDays.put(tx, 1, { before: latest });
      return [];
    },
  ],
  ['DELETE FROM usage_events WHERE day <', dropDays],
  ['pg_current_snapshot()', (db) => [{ moment: String(db.changes) }]],
  [
    'SELECT shard, epoch FROM shard_epochs WHERE shard = ANY($1)',
    (db, tx, [shards]) =>
      db.rows.epochs.all(tx).filter(({ shard }) => (shards as string[]).includes(shard)),
  ],
  [
    'INSERT INTO shard_epochs',
    (db, tx, [shard, epoch]) => {
      db.rows.epochs.put(tx, text(shard), {
        shard: text(shard),
        epoch: text(epoch),
        updated_at: db.nowMs,
      });
      return [];
    },
  ],
];
