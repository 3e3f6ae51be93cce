import type { AdmitReply, BudgetExceeded } from '@tollgate/keyspace';
import type { SpentBudget } from '../../observe/refusal-log.ts';
import { Refusal } from '../../refusals.ts';

const UNIT_WORDS = {
  charged_tokens: 'charged tokens',
  tokens: 'tokens',
  money: 'in the currency of this gateway',
  requests: 'requests',
} as const;
/** Says whose use the amounts are, and how a request names it. */
const SCOPES = {
  session: { of: 'this session', how: 'the header x-tollgate-run' },
  end_user: { of: 'this end user', how: 'the header x-tollgate-end-user or the field user' },
} as const;
const MICROS = 1_000_000;

/** Names the budget, its amount and when it starts again: the owner of the account raises it, or waits. Waiting does not help where nothing of it is used. */
export function budgetExceeded(reply: BudgetExceeded): Refusal {
  const { budgetId, unit, used, limit, endsAtMs, scope } = reply;
  const written = (units: number): string => String(unit === 'money' ? units / MICROS : units);
  const name = `Budget ${budgetId} of ${scope === null ? 'this key or account' : SCOPES[scope].of}`;
  const amount = `${written(limit)} (${UNIT_WORDS[unit]})`;
  if (used === 0) {
    const detail = `${name} is too small for the request, which must hold more than all of its ${amount}. Send a shorter prompt; its owner can raise it in the console or with the interface.`;
    return new BudgetSpent(reply, { detail, headers: {} });
  }
  const resets =
    endsAtMs === null
      ? 'It has no end'
      : `It has room again at ${new Date(endsAtMs).toISOString()}`;
  const detail = `${name} does not cover the request: ${written(used)} of ${amount} is used. ${resets}; its owner can raise it in the console or with the interface.`;
  return new BudgetSpent(reply, { detail, headers: endsAtMs === null ? {} : waitFor(endsAtMs) });
}

/** Returns the exact wait, even beyond the minute that SDKs honour: `x-should-retry: false` of each such refusal keeps them from trying again. */
function waitFor(endsAtMs: number): Record<string, string> {
  return { 'retry-after': String(Math.max(1, Math.ceil((endsAtMs - Date.now()) / 1000))) };
}

/** The rest of a budget is too small for a request. */
export class BudgetSpent extends Refusal {
  /** Names the kind of the budget, for metrics. */
  readonly budget: SpentBudget;
  /** Is true where another model may answer. */
  readonly fallsBack: boolean;

  constructor(
    { unit, scope, fallsBack }: BudgetExceeded,
    text: { detail: string; headers: Record<string, string> },
  ) {
    super('budget_exceeded', text);
    this.budget = { unit, scope: scope ?? 'all' };
    this.fallsBack = fallsBack;
  }
}

/** The owner of the account wants each request to say for whom it runs. */
export function valueRequired({
  budgetId,
  scope,
}: Extract<AdmitReply, { kind: 'value_required' }>): Refusal {
  const { of, how } = SCOPES[scope];
  return new Refusal('budget_value_missing', {
    detail: `Budget ${budgetId} counts by ${of.replace('this ', '')}, and the request names none; name it with ${how}.`,
  });
}
