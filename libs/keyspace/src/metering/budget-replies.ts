import type { ReplyReader } from '../connection/reply-reader.ts';
import { scopeKindOf } from '../scope-value.ts';
import type { AdmitReply, BudgetExceeded } from './admission.ts';

export function toBudgetExceeded(reader: ReplyReader): BudgetExceeded {
  const [leftTokens, budgetId] = [reader.integer(), reader.integer()];
  const unit = reader.oneOf('charged_tokens', 'tokens', 'money', 'requests');
  const [limit, used, held, ends] = [
    reader.integer(),
    reader.integer(),
    reader.integer(),
    reader.integer(),
  ];
  const endsAtMs = ends === 0 ? null : ends * 1_000;
  const scope = scopeKindOf(reader.text());
  const fallsBack = reader.text() === '1';
  return {
    kind: 'budget_exceeded',
    leftTokens,
    budgetId,
    unit,
    limit,
    used,
    held,
    endsAtMs,
    scope,
    fallsBack,
  };
}

export function toValueRequired(reader: ReplyReader): AdmitReply {
  const budgetId = reader.integer();
  return { kind: 'value_required', budgetId, scope: scopeKindOf(reader.text()) ?? 'session' };
}
