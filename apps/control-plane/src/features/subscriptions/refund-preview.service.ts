import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import { LiveBalances } from '../live-state/live-balances.ts';
import { notSubscribed } from './find-active.ts';
import { SubscriptionRow } from './subscription.entity.ts';
import { REFUND_OF_REST, refundOf } from './token-lots.ts';

export interface RefundPreview {
  /** What unsubscribing takes out now. */
  tokens: number;
  /** Set aside for running requests; what they leave of it is refunded when they end. */
  held: number;
  refundMicros: bigint;
  /** False while Redis does not answer: the tokens are the ledger's own, without what was used since. */
  isLive: boolean;
}

/** What refunding every subscription of a model comes to, by the ledger. */
export interface RefundOfAll {
  subscriptions: number;
  tokens: number;
  refundMicros: bigint;
}

const REFUND_OF_ALL = `
  SELECT count(DISTINCT s.id) AS subscriptions, coalesce(sum(l.remaining), 0)::text AS tokens,
    coalesce(sum(${REFUND_OF_REST}), 0)::text AS refund
  FROM subscriptions s LEFT JOIN token_lots l ON l.subscription_id = s.id AND l.remaining > 0
  WHERE s.model_id = $1 AND s.status <> 'closed'`;
const refundOfAllRow = z.object({
  subscriptions: z.coerce.number(),
  tokens: z.string().transform(toSafeInteger),
  refund: z.string().transform(BigInt),
});

/** What unsubscribing would refund at this moment, by the same arithmetic. */
@Injectable()
export class RefundPreviewService {
  constructor(
    @InjectRepository(SubscriptionRow) private readonly subscriptions: Repository<SubscriptionRow>,
    private readonly liveBalances: LiveBalances,
  ) {}

  /** Throws not_subscribed. */
  async of(userId: number, modelId: number): Promise<RefundPreview> {
    const row = await this.subscriptions.findOneBy({ userId, modelId });
    if (!row || row.status === 'closed') throw notSubscribed();
    const live = (await this.liveBalances.read(userId, [modelId]))?.get(modelId);
    const held = live?.held ?? 0;
    const free = live ? live.balance - live.held : row.balance - row.overdraft;
    const tokens = Math.max(0, free);
    return {
      tokens,
      held,
      refundMicros: await refundOf(this.subscriptions.manager, row.id, tokens),
      isLive: live !== undefined,
    };
  }

  async ofModel(modelId: number): Promise<RefundOfAll> {
    const rows: unknown[] = await this.subscriptions.query(REFUND_OF_ALL, [modelId]);
    const { refund, ...counts } = refundOfAllRow.parse(rows[0]);
    return { ...counts, refundMicros: refund };
  }
}
