/** The rules that alert an operator, with their severity. The feature that watches a condition raises and resolves its alert. */
export const ALERT_RULES = {
  node_offline: 'warning',
  node_refuses_snapshot: 'critical',
  bad_node_proof: 'critical',
  snapshot_pinned: 'info',
  publication_failed: 'critical',
  upstream_failing: 'warning',
  upstream_overruns: 'warning',
  usage_doubted: 'warning',
  settlement_backlog: 'warning',
  journal_set_aside: 'critical',
  dead_letter: 'critical',
  drift: 'critical',
  redis_tampered: 'critical',
  redis_data_lost: 'critical',
  restore_open: 'critical',
  overdraft: 'warning',
  low_balance: 'info',
  auto_recharge_failed: 'warning',
  payout_unsettled: 'warning',
  model_not_priced: 'warning',
} as const satisfies Record<string, AlertSeverity>;

export const ALERT_SEVERITIES = ['info', 'warning', 'critical'] as const;
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];
export type AlertRule = keyof typeof ALERT_RULES;

/**
 * The figures and names of an alert's message, from which the console says it in the reader's language; `kind` where a rule has several
 * sentences.
 */
export type AlertDetail = Readonly<Record<string, unknown>>;

export interface AlertToRaise {
  rule: AlertRule;
  /** What it is about, `<kind>:<id>`, e.g. `subscription:17`; one open alert per (rule, subject). */
  subject: string;
  /** A sentence for a person, without secrets. */
  message: string;
  detail?: AlertDetail;
}
