import { Inject, Injectable } from '@nestjs/common';
import { formatAmount } from '@tollgate/money';
import { z } from 'zod';
import type { Role } from '../../platform/access/caller.ts';
import { CONFIG, type Config } from '../../config.ts';
import { ListedAlertsService } from '../alerts/listed-alerts.service.ts';
import { toUsageLogResponse, type UsageLogRow } from '../usage/api/usage-log-row.ts';
import { UsageLogsService } from '../usage/api/usage-logs.service.ts';
import type { EventPosition } from './event-position.ts';
import type { StoredEvent } from './event-store.sql.ts';
import { streamEventSchema, type StreamEvent } from './events.dto.ts';

export interface PositionedEvent {
  position: EventPosition;
  /** Is null for events that only administrators see. */
  userId: number | null;
  content: StreamEvent;
  /** Is the event as users see it. */
  forUser: StreamEvent;
}

const requestsData = z.object({ count: z.number(), rids: z.array(z.string()) });
const walletData = z.object({ micros: z.string().transform(BigInt) });
const alertData = z.object({ id: z.number() });

/** Turns stored events into what a reader sees, with one query for all requests of a page. */
@Injectable()
export class EventDetails {
  constructor(
    private readonly alerts: ListedAlertsService,
    private readonly requests: UsageLogsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Omits an event whose subject has been deleted meanwhile. */
  async describe(rows: readonly StoredEvent[]): Promise<PositionedEvent[]> {
    const rids = rows.flatMap((row) =>
      row.kind === 'requests' ? requestsData.parse(row.data).rids : [],
    );
    const requests = new Map((await this.requests.byIds(rids)).map((one) => [one.rid, one]));
    const described: PositionedEvent[] = [];
    for (const row of rows) {
      const position = { xid: row.xid, id: row.id };
      const content = await this.contentOf(row, requests);
      if (!content) continue;
      const forUser = row.kind === 'requests' ? requestsOf(row, requests, 'user') : content;
      described.push({ position, userId: row.user_id, content, forUser });
    }
    return described;
  }

  private async contentOf(
    row: StoredEvent,
    requests: ReadonlyMap<string, UsageLogRow>,
  ): Promise<StreamEvent | undefined> {
    switch (row.kind) {
      case 'alert': {
        const data = await this.alerts.find(alertData.parse(row.data).id);
        return data && { event: 'alert', data };
      }
      case 'requests':
        return requestsOf(row, requests, 'admin');
      case 'wallet': {
        const balance = formatAmount(walletData.parse(row.data).micros);
        const data = { user_id: Number(row.user_id), balance, currency: this.config.CURRENCY };
        return { event: 'wallet', data };
      }
      case 'balance':
        return streamEventSchema.parse({
          event: 'balance',
          data: { ...row.data, user_id: row.user_id },
        });
      case 'node':
        return streamEventSchema.parse({ event: 'node', data: row.data });
    }
  }
}

function requestsOf(
  row: StoredEvent,
  requests: ReadonlyMap<string, UsageLogRow>,
  role: Role,
): StreamEvent {
  const { count, rids } = requestsData.parse(row.data);
  const newest = rids.flatMap((rid) => {
    const request = requests.get(rid);
    return request ? [toUsageLogResponse(request, role)] : [];
  });
  return { event: 'requests', data: { user_id: Number(row.user_id), count, newest } };
}
