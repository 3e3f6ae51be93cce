import type { BudgetRow } from './budget.entity.ts';
import { writeAmount, type BudgetResponse } from './budgets.dto.ts';

export function toBudgetResponse(row: BudgetRow): BudgetResponse {
  return {
    id: row.id,
    user_id: row.userId,
    key_id: row.keyId,
    of: row.of,
    each: row.each,
    require: row.requiresValue,
    unit: row.unit,
    amount: writeAmount(row.unit, row.amount),
    period: row.period,
    window_minutes: row.windowMinutes,
    time_zone: row.timeZone,
    models: row.models,
    action: row.action,
    notify_at: row.notifyAt,
    is_of_administrator: row.isOfAdministrator,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}
