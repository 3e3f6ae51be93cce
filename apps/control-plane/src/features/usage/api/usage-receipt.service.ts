import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { AccountScope } from '../../../platform/access/account-scope.ts';
import type { Caller } from '../../../platform/access/caller.ts';
import { Refusal } from '../../../platform/http/refusal.ts';
import type { PriceResponse } from '../../models/models.dto.ts';
import { PricingService } from '../../models/pricing.service.ts';
import { uuidTimeMs } from '../ingest/read-event.ts';
import { explainCharge } from './explain-charge.ts';
import { joinNames, NAME_COLUMNS } from './request-names.ts';
import type { UsageReceipt } from './usage-answers.ts';
import { toUsageLogResponse, usageLogRow, type UsageLogRow } from './usage-log-row.ts';

const eventRow = z.object({
  seq: z.number(),
  kind: z.enum(['usage', 'reap']),
  delta: z.coerce.number(),
  created_at: z.date(),
});

/** Explains the charge of one request. */
@Injectable()
export class UsageReceiptService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly scope: AccountScope,
    private readonly pricing: PricingService,
  ) {}

  async receipt(caller: Caller, rid: string): Promise<UsageReceipt> {
    const events: unknown[] = await this.dataSource.query(
      `SELECT e.*, ${NAME_COLUMNS}
       FROM usage_events e ${joinNames('e')}
       WHERE e.rid = $1 AND e.day = $2 ORDER BY e.seq`,
      [rid, new Date(uuidTimeMs(rid)).toISOString().slice(0, 10)],
    );
    const requests = events.flatMap((event) => usageLogRow.safeParse(event).data ?? []);
    const final = requests.findLast((row) => row.kind === 'usage') ?? requests[0];
    if (!final || !this.scope.isReachable(caller, final.user_id)) throw new Refusal('not_found');
    const price =
      final.price_version_id === null ? null : await this.pricing.find(final.price_version_id);
    return {
      ...toUsageLogResponse(final, caller.role),
      price,
      ...explanationOf(final, price),
      events: events.map(toEventResponse),
    };
  }
}

function explanationOf(
  final: UsageLogRow,
  price: PriceResponse | null,
): Pick<
  UsageReceipt,
  'lines' | 'sum' | 'cache_saved' | 'tier_above_prompt_tokens' | 'explanation'
> {
  if (final.kind === 'reap' || !price) {
    return {
      lines: [],
      sum: null,
      cache_saved: null,
      tier_above_prompt_tokens: null,
      explanation:
        'The node that served this request has not returned; its last checkpoint was charged, and a correction follows if it does.',
    };
  }
  return explainCharge(final, price);
}

function toEventResponse(event: unknown): UsageReceipt['events'][number] {
  const row = eventRow.parse(event);
  return {
    seq: row.seq,
    kind: row.kind,
    charged_tokens: row.delta,
    booked_at: row.created_at.toISOString(),
  };
}
