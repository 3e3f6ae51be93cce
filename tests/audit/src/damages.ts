/** Describes a damage: its name, the SQL that does it, the SQL that repairs it, and the checks that find it. */
type Damage = readonly [what: string, damage: string, repair: string, found: string[]];

export const DAMAGES: readonly Damage[] = [
  [
    'a wallet with money from nowhere',
    `UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'wallet'`,
    `UPDATE ledger_accounts SET balance = balance - 1 WHERE kind = 'wallet'`,
    ['wallet balances'],
  ],
  [
    'a ledger entry that was edited',
    'UPDATE ledger_entries SET amount = amount + 1 WHERE id = (SELECT max(id) FROM ledger_entries)',
    'UPDATE ledger_entries SET amount = amount - 1 WHERE id = (SELECT max(id) FROM ledger_entries)',
    ['wallet transactions', 'wallet balances'],
  ],
  [
    'a token balance that moved alone',
    `UPDATE subscriptions SET balance = balance - 1 WHERE status = 'active'`,
    `UPDATE subscriptions SET balance = balance + 1 WHERE status = 'active'`,
    ['token balances', 'token equation', 'live balances'],
  ],
  [
    'a lot with a token too many',
    'UPDATE token_lots SET remaining = remaining + 1 WHERE withdrawn = 0',
    'UPDATE token_lots SET remaining = remaining - 1 WHERE withdrawn = 0',
    ['token balances'],
  ],
  [
    'a charge that is not its price',
    `UPDATE usage_events SET input_tokens = input_tokens + 1 WHERE rid = (SELECT min(rid::text)::uuid FROM usage_events)`,
    `UPDATE usage_events SET input_tokens = input_tokens - 1 WHERE rid = (SELECT min(rid::text)::uuid FROM usage_events)`,
    ['charges', 'roll-ups', 'roll-ups by minute', 'totals'],
  ],
  [
    'another multiplier than the one that was applied',
    `UPDATE usage_events SET premiums = '["service_tier=scale"]' WHERE premiums IS NOT NULL`,
    `UPDATE usage_events SET premiums = '["service_tier=priority"]' WHERE premiums IS NOT NULL`,
    ['charges'],
  ],
  [
    'a lot that was bought below its price',
    `UPDATE token_lots SET cost = cost - 1 WHERE withdrawn = 0`,
    `UPDATE token_lots SET cost = cost + 1 WHERE withdrawn = 0`,
    ['purchases'],
  ],
  [
    'a roll-up that forgot a token',
    'UPDATE usage_rollups SET output_tokens = output_tokens - 1',
    'UPDATE usage_rollups SET output_tokens = output_tokens + 1',
    ['roll-ups', 'daily roll-ups'],
  ],
  [
    'a roll-up by minute that forgot a request',
    'UPDATE usage_rollups_minute SET requests = requests - 1',
    'UPDATE usage_rollups_minute SET requests = requests + 1',
    ['roll-ups by minute'],
  ],
  [
    'a day that is not the sum of its hours',
    'UPDATE usage_rollups_daily SET charge = charge + 1',
    'UPDATE usage_rollups_daily SET charge = charge - 1',
    ['daily roll-ups'],
  ],
  [
    'totals that forgot a request',
    'UPDATE usage_totals SET requests = requests - 1',
    'UPDATE usage_totals SET requests = requests + 1',
    ['totals', 'daily totals'],
  ],
  [
    'a total of a day that is not the sum of its hours',
    'UPDATE usage_totals_daily SET errors = errors + 1',
    'UPDATE usage_totals_daily SET errors = errors - 1',
    ['daily totals'],
  ],
  [
    'a dead letter',
    `INSERT INTO usage_dead_letters (rid, seq, delta, payload, reason) VALUES ('x', '0', '1', '{}', 'planted')`,
    'DELETE FROM usage_dead_letters',
    ['dead letters'],
  ],
  [
    'a dead letter that is called booked and is not',
    `INSERT INTO usage_dead_letters (rid, seq, delta, payload, reason, resolved_at, resolution)
       VALUES (replace('0199aaaa-0000-7000-8000-000000000000', '0199aaaa', lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint >> 16), 8, '0')), '0', '1', '{}', 'planted', now(), 'booked')`,
    'DELETE FROM usage_dead_letters',
    ['dead letters'],
  ],
  [
    'a dead letter that was dismissed without a reason',
    `INSERT INTO usage_dead_letters (rid, seq, delta, payload, reason, resolved_at, resolution) VALUES ('x', '0', '1', '{}', 'planted', now(), 'dismissed')`,
    'DELETE FROM usage_dead_letters',
    ['dead letters'],
  ],
  [
    'tokens in a closed subscription',
    `UPDATE subscriptions SET balance = balance + 7 WHERE status = 'closed'`,
    `UPDATE subscriptions SET balance = balance - 7 WHERE status = 'closed'`,
    ['token balances', 'token equation', 'closed subscriptions', 'live balances'],
  ],
  [
    'a subscription that was closed by a withdrawal that is not booked',
    `UPDATE subscriptions SET withdrawal_id = overlay(withdrawal_id::text placing 'ffff' from 33)::uuid WHERE status = 'closed'`,
    `UPDATE subscriptions s SET withdrawal_id = u.rid FROM usage_events u WHERE u.kind = 'withdraw' AND u.subscription_id = s.id AND s.status = 'closed'`,
    ['closed subscriptions'],
  ],
  [
    'a withdrawal that took more than was booked',
    `UPDATE usage_events SET delta = delta + 1 WHERE kind = 'withdraw'`,
    `UPDATE usage_events SET delta = delta - 1 WHERE kind = 'withdraw'`,
    ['token equation', 'withdrawals'],
  ],
  [
    'a lot that was refunded without money',
    `UPDATE token_lots SET refunded = refunded - 1 WHERE refunded > 0`,
    `UPDATE token_lots SET refunded = refunded + 1 WHERE refunded > 0`,
    ['refunds', 'withdrawals'],
  ],
  [
    'a journal that was set aside',
    `INSERT INTO alerts (rule, severity, subject, message) VALUES ('journal_set_aside', 'critical', 'node:0', 'planted')`,
    `DELETE FROM alerts WHERE subject = 'node:0'`,
    ['journals set aside'],
  ],
  [
    'an adjustment without its reason',
    `UPDATE ledger_transactions SET note = NULL WHERE kind = 'adjustment'`,
    `SET session_replication_role = replica; UPDATE ledger_transactions SET note = 'a correction' WHERE kind = 'adjustment'`,
    ['adjustments'],
  ],
  [
    'an adjustment that the activity log does not know',
    `UPDATE activity_log SET after = '{"amount": "9"}' WHERE action = 'wallet.adjustment'`,
    `SET session_replication_role = replica; UPDATE activity_log SET after = '{"note": "a correction", "amount": "3"}' WHERE action = 'wallet.adjustment'`,
    ['adjustments'],
  ],
  [
    'a budget that forgot a token',
    `UPDATE budget_periods SET used = used - 1 WHERE used > 0`,
    `UPDATE budget_periods SET used = used + 1 WHERE used > 0`,
    ['budgets', 'live budgets'],
  ],
  [
    'a request that counts in another period of its budget',
    `UPDATE usage_events SET budgets = replace(budgets, ':0:', ':7:') WHERE budgets IS NOT NULL`,
    `UPDATE usage_events SET budgets = replace(budgets, ':7:', ':0:') WHERE budgets IS NOT NULL`,
    ['budgets'],
  ],
  [
    'a grant without its entry',
    `UPDATE budget_periods SET granted = granted + 5`,
    `UPDATE budget_periods SET granted = granted - 5`,
    ['budget grants'],
  ],
];
