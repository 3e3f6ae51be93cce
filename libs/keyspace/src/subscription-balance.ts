import { ReplyReader } from './reply-reader.ts';

export interface SubscriptionRef {
  accountId: number;
  modelId: number;
}

export interface SubscriptionBalance extends SubscriptionRef {
  id: number;
  status: string;
  generation: number;
  /** Charged tokens; negative by what was used beyond any balance. */
  balance: number;
  held: number;
  /** Requests running now. */
  running: number;
  creditSeq: number;
}

export const BALANCE_FIELDS = ['st', 'id', 'gen', 'bal', 'held', 'conc', 'cseq'] as const;

export function toBalance(
  { accountId, modelId }: SubscriptionRef,
  values: unknown,
): SubscriptionBalance | null {
  if (Array.isArray(values) && values[0] === null) return null;
  const reader = new ReplyReader(values);
  return {
    accountId,
    modelId,
    status: reader.text(),
    id: reader.integer(),
    generation: reader.integer(),
    balance: reader.integer(),
    held: reader.integer(),
    running: reader.integer(),
    creditSeq: reader.integer(),
  };
}
