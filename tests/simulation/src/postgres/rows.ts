import type { PriceTier } from '@tollgate/snapshot';
import { Table } from './table.ts';

export interface SubscriptionRow {
  id: number;
  user_id: number;
  model_id: number;
  status: 'active' | 'closing' | 'closed';
  balance: number;
  overdraft: number;
  credit_seq: number;
  generation: number;
  withdrawal_id: string | null;
  drain: boolean;
  revision: number;
  /** Is the Unix ms of the last change that raised the revision. */
  revised_at: number;
  auto_recharge_threshold: number | null;
  auto_recharge_amount: number | null;
  /** Is the Unix ms until which a refused purchase is not tried again. */
  auto_recharge_retry_at: number | null;
  auto_recharge_failures: number;
  auto_recharge_refusal: string | null;
}
export interface LotRow {
  id: number;
  subscription_id: number;
  credit_seq: number;
  tokens: number;
  remaining: number;
  withdrawn: number;
  cost: bigint;
  refunded: bigint;
}
export interface CreditRow {
  subscription_id: number;
  seq: number;
  delta: number;
  kind: string;
  created_at: number;
}
export interface EntryRow {
  subscription_id: number;
  kind: string;
  reference: string;
  delta: number;
  balance_after: number;
}
export interface OverdraftRow {
  subscription_id: number;
  reference: string;
  tokens: number;
}
export interface UsageRow {
  day: string;
  rid: string;
  seq: number;
  kind: string;
  subscription_id: number;
  delta: number;
  charge: number | null;
  shard: string | null;
  outbox_ms: number | null;
  outbox_n: number | null;
  created_at: number;
}
export interface LedgerAccountRow {
  id: number;
  kind: string;
  user_id: number | null;
  balance: bigint;
}

/** Makes the tables that the code under simulation reads and writes. */
export function tables() {
  return {
    subscriptions: new Table<SubscriptionRow>(),
    lots: new Table<LotRow>(),
    credits: new Table<CreditRow>(),
    entries: new Table<EntryRow>(),
    overdrafts: new Table<OverdraftRow>(),
    usage: new Table<UsageRow>(),
    letters: new Table<{
      rid: string;
      seq: string;
      delta: string;
      payload: string;
      reason: string;
    }>(),
    accounts: new Table<LedgerAccountRow>(),
    postings: new Table<{ id: number; kind: string; reference: string }>(),
    postingEntries: new Table<{ account: number; transaction: number; amount: bigint }>(),
    outbox: new Table<{ id: number; kind: string; target_id: number; created_at: number }>(),
    epochs: new Table<{ shard: string; epoch: string; updated_at: number }>(),
    droppedDays: new Table<{ before: string }>(),
    users: new Table<{
      id: number;
      status: string;
      drain: boolean;
      revision: number;
      updated_at: number;
    }>(),
    keys: new Table<{ id: number; user_id: number; key_hash: string; updated_at: number }>(),
    prices: new Table<{
      id: number;
      model_id: number;
      weights: Record<string, string | null>;
      multipliers: Readonly<Record<string, number>>;
      price_per_million: bigint;
      is_free: boolean;
      effective_at: number;
      tiers: readonly PriceTier[];
    }>(),
  };
}
export type Rows = ReturnType<typeof tables>;
