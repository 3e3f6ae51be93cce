import type { SubscriptionRow } from './subscription.entity.ts';
import type { SubscriptionResponse } from './subscriptions.dto.ts';

export function toSubscriptionResponse(row: SubscriptionRow, model: string): SubscriptionResponse {
  return {
    id: row.id,
    user_id: row.userId,
    model_id: row.modelId,
    model,
    status: row.status,
    tokens: row.balance - row.overdraft,
    auto_recharge_threshold: row.autoRechargeThreshold,
    auto_recharge_amount: row.autoRechargeAmount,
    created_at: row.createdAt.toISOString(),
  };
}
