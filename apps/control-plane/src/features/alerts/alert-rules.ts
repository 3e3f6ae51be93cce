/** Lists the alert rules with their severity. The feature that watches a condition raises and resolves its alert. */
export const ALERT_RULES = {
  node_offline: 'warning',
  node_refuses_snapshot: 'critical',
  node_misconfigured: 'critical',
  node_clock: 'warning',
  bad_node_proof: 'critical',
  snapshot_pinned: 'info',
  publication_failed: 'critical',
  upstream_failing: 'warning',
  upstream_overruns: 'warning',
  usage_doubted: 'warning',
  prompt_excess: 'warning',
  settlement_backlog: 'warning',
  partitions_late: 'warning',
  journal_set_aside: 'critical',
  dead_letter: 'critical',
  drift: 'critical',
  redis_tampered: 'critical',
  redis_data_lost: 'critical',
  restore_open: 'critical',
  overdraft: 'warning',
  budget_threshold: 'info',
  budget_exhausted: 'warning',
  budget_shared: 'warning',
  low_balance: 'info',
  auto_recharge_failed: 'warning',
  payout_unsettled: 'warning',
} as const satisfies Record<string, AlertSeverity>;

/** Lists the message kinds of rules that have several messages; `detail.kind` of an alert names its kind. */
export const ALERT_KINDS = {
  node_clock: ['ahead', 'behind'],
  settlement_backlog: ['node', 'outbox', 'queue'],
  drift: [
    'below',
    'above',
    'reap',
    'credits',
    'lost_credits',
    'unreadable',
    'held',
    'budget',
    'budget_used',
  ],
  redis_tampered: ['usage', 'snapshot', 'seal', 'version', 'types', 'records'],
  redis_data_lost: ['lost', 'stale'],
  auto_recharge_failed: ['funds', 'refused'],
} as const satisfies Partial<Record<AlertRule, readonly string[]>>;

export const ALERT_SEVERITIES = ['info', 'warning', 'critical'] as const;
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];
export type AlertRule = keyof typeof ALERT_RULES;

type KindOf<Rule extends AlertRule> = Rule extends keyof typeof ALERT_KINDS
  ? { kind: (typeof ALERT_KINDS)[Rule][number] }
  : { kind?: never };

/**
 * Holds the figures and names of an alert's message, from which the console renders it in the reader's language; `kind` is present where the rule has
 * several messages.
 */
export type AlertDetail<Rule extends AlertRule = AlertRule> = Readonly<Record<string, unknown>> &
  KindOf<Rule>;

export interface AlertToRaise<Rule extends AlertRule = AlertRule> {
  rule: Rule;
  /** Is the subject as `<kind>:<id>`, for example `subscription:17`. At most one alert is open per rule and subject. */
  subject: string;
  /** Is a sentence for people. It contains no secrets. */
  message: string;
  detail?: AlertDetail<Rule>;
}
