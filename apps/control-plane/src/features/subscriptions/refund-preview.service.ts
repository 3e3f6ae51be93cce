import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { LiveBalances } from '../live-state/live-balances.ts';
import { notSubscribed } from './find-active.ts';
import { SubscriptionRow } from './subscription.entity.ts';
import { refundOf, refundOfModel, type RefundOfAll } from './token-lots.sql.ts';

export interface RefundPreview {
  /** Counts the tokens that unsubscribing withdraws now. */
  tokens: number;
  /** Counts the tokens that running requests hold. The unused part is refunded when they end. */
  held: number;
  refundMicros: bigint;
  /** Is false while Redis does not answer: the tokens are then the ledger's, without later use. */
  isLive: boolean;
}

/** Computes the refund of unsubscribing now, by the same arithmetic. */
@Injectable()
export class RefundPreviewService {
  constructor(
    @InjectRepository(SubscriptionRow) private readonly subscriptions: Repository<SubscriptionRow>,
    private readonly liveBalances: LiveBalances,
  ) {}

  /** Returns what a refund would pay now. Throws not_subscribed. */
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

  ofModel(modelId: number): Promise<RefundOfAll> {
    return refundOfModel(this.subscriptions.manager, modelId);
  }
}
