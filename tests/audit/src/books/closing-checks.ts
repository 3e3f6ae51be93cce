import type { BookCheck } from './book-checks.ts';

/** Selects the day of a UUIDv7, which a request or withdrawal is numbered by. */
const dayOf = (id: string): string =>
  `to_timestamp(('x' || lpad(substr(replace(${id}, '-', ''), 1, 12), 16, '0'))::bit(64)::bigint / 1000.0)::date`;
/** Single requests of earlier days were dropped by the retention. */
const KEPT_SINCE = `(SELECT coalesce(max(before), '-infinity') FROM usage_dropped_days)`;
const UUID = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';

/** Holds what leaves the books: withdrawals, events that were set aside, corrections by hand. */
export const CLOSING_CHECKS: readonly BookCheck[] = [
  {
    name: 'withdrawals',
    promise: 'tokens of the event == ledger == lots; refunds == wallet',
    compared: `SELECT count(*) FROM token_entries WHERE kind = 'withdrawal'`,
    problems: `
      WITH events AS (
        SELECT subscription_id, 'withdrawal:' || rid || ':' || seq AS reference, delta FROM usage_events WHERE kind = 'withdraw'
      ), booked AS (
        SELECT subscription_id, reference, sum(tokens) AS tokens FROM (
          SELECT subscription_id, reference, -delta AS tokens FROM token_entries WHERE kind = 'withdrawal'
          UNION ALL SELECT subscription_id, reference, tokens FROM token_overdrafts WHERE reference LIKE 'withdrawal:%'
        ) b GROUP BY 1, 2
      )
      SELECT format('subscription %s, %s: taken %s, booked %s', e.subscription_id, e.reference, e.delta, coalesce(b.tokens, 0)) AS problem
      FROM events e LEFT JOIN booked b USING (subscription_id, reference) WHERE e.delta <> coalesce(b.tokens, 0)
      UNION ALL
      SELECT format('subscription %s: withdrawn from lots %s, from the balance %s; refunded of lots %s, to the wallet %s', s.id, l.withdrawn, coalesce(t.tokens, 0), l.refunded, coalesce(t.refund, 0))
      FROM subscriptions s
      JOIN (SELECT subscription_id, sum(withdrawn) AS withdrawn, sum(refunded) AS refunded FROM token_lots GROUP BY 1) l ON l.subscription_id = s.id
      LEFT JOIN (
        SELECT t.subscription_id, -sum(t.delta) AS tokens, sum(r.amount) AS refund FROM token_entries t
        LEFT JOIN LATERAL (
          SELECT e.amount FROM ledger_transactions x JOIN ledger_entries e ON e.transaction_id = x.id AND e.amount > 0
          WHERE x.kind = 'refund' AND x.reference = t.reference
        ) r ON true
        WHERE t.kind = 'withdrawal' GROUP BY 1
      ) t ON t.subscription_id = s.id
      WHERE l.withdrawn <> coalesce(t.tokens, 0) OR l.refunded <> coalesce(t.refund, 0)`,
  },
  {
    name: 'dead letters',
    promise: 'none unresolved; booked ones are booked, others have a note',
    compared: 'SELECT count(*) FROM usage_dead_letters',
    problems: `
      SELECT format('request %s:%s of %s: %s', rid, seq, delta, reason) AS problem FROM usage_dead_letters WHERE resolved_at IS NULL
      UNION ALL
      SELECT format('request %s:%s: %s, but no row of it is booked', d.rid, d.seq, d.resolution) FROM usage_dead_letters d
      WHERE d.resolution IN ('booked', 'duplicate') AND d.rid ~ '${UUID}' AND ${dayOf('d.rid')} >= ${KEPT_SINCE}
        AND NOT EXISTS (SELECT FROM usage_events u WHERE u.rid::text = d.rid)
      UNION ALL
      SELECT format('request %s:%s: resolved without a note or a booking', rid, seq) FROM usage_dead_letters
      WHERE resolved_at IS NOT NULL AND resolution NOT IN ('booked', 'duplicate') AND coalesce(note, '') = ''`,
  },
  {
    name: 'journals set aside',
    promise: 'no node has any',
    compared: 'SELECT count(*) FROM proxy_nodes WHERE deleted_at IS NULL',
    problems: `SELECT message AS problem FROM alerts WHERE rule = 'journal_set_aside' AND resolved_at IS NULL`,
  },
  {
    name: 'adjustments',
    promise: 'with note and actor, wallet against house, as the activity log has them',
    compared: `SELECT count(*) FROM ledger_transactions WHERE kind = 'adjustment'`,
    problems: `
      SELECT format('adjustment %s: note %s, actor %s, accounts %s', t.id, coalesce(t.note, 'none'), coalesce(t.actor_user_id::text, 'none'), a.kinds) AS problem
      FROM ledger_transactions t
      JOIN LATERAL (SELECT string_agg(a.kind, ', ' ORDER BY a.kind) AS kinds FROM ledger_entries e JOIN ledger_accounts a ON a.id = e.ledger_account_id WHERE e.transaction_id = t.id) a ON true
      WHERE t.kind = 'adjustment' AND (coalesce(t.note, '') = '' OR t.actor_user_id IS NULL OR a.kinds <> 'grants, wallet')
      UNION ALL
      SELECT format('account %s: adjusted by %s, by the activity log %s', coalesce(l.user_id::text, r.user_id), coalesce(l.amount, 0), coalesce(r.amount, 0))
      FROM (
        SELECT a.user_id, sum(e.amount) / 1000000.0 AS amount FROM ledger_transactions t
        JOIN ledger_entries e ON e.transaction_id = t.id JOIN ledger_accounts a ON a.id = e.ledger_account_id AND a.kind = 'wallet'
        WHERE t.kind = 'adjustment' GROUP BY 1
      ) l
      FULL JOIN (
        SELECT target_id AS user_id, sum((after ->> 'amount')::numeric) AS amount FROM activity_log WHERE action = 'wallet.adjustment' GROUP BY 1
      ) r ON r.user_id = l.user_id::text
      WHERE coalesce(l.amount, 0) <> coalesce(r.amount, 0)`,
  },
];

/** Running requests release tokens into a subscription that is closed; they leave it when they are booked. */
export const CHECKS_AT_REST: readonly BookCheck[] = [
  {
    name: 'closed subscriptions',
    promise: 'no tokens left, closed by a booked withdrawal',
    compared: `SELECT count(*) FROM subscriptions WHERE status = 'closed'`,
    problems: `
      SELECT format('closed subscription %s: %s tokens are left', id, balance) AS problem
      FROM subscriptions WHERE status = 'closed' AND balance <> 0
      UNION ALL
      SELECT format('closed subscription %s: withdrawal %s is not booked', s.id, s.withdrawal_id)
      FROM subscriptions s
      WHERE s.status = 'closed' AND s.withdrawal_id IS NOT NULL AND ${dayOf('s.withdrawal_id::text')} >= ${KEPT_SINCE}
        AND NOT EXISTS (SELECT FROM usage_events u WHERE u.rid = s.withdrawal_id AND u.kind = 'withdraw' AND u.subscription_id = s.id)`,
  },
];
