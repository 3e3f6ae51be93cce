import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import type { Caller } from '../../platform/access/caller.ts';
import { IncidentsService } from '../incidents/incidents.service.ts';
import { isRequestId } from '../usage/ingest/read-event.ts';
import { UsageLogsService } from '../usage/api/usage-logs.service.ts';
import { FIND_BY_NAME } from '../names/record-names.sql.ts';
import type { SearchResults } from './search.dto.ts';

const row = z.object({
  kind: z.enum(['user', 'model', 'key', 'upstream', 'node']),
  id: z.coerce.string(),
  title: z.string(),
  detail: z.string(),
});

/** Searches for the command palette. Users find their own records and what is for sale; administrators find everything. */
@Injectable()
export class SearchService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly requests: UsageLogsService,
    private readonly incidents: IncidentsService,
  ) {}

  async search(caller: Caller, text: string): Promise<SearchResults> {
    const ownerId = caller.role === 'admin' ? null : caller.userId;
    const escaped = text.replace(/[\\%_]/g, '\\$&');
    const rows: unknown[] = await this.dataSource.query(FIND_BY_NAME, [
      `%${escaped}%`,
      escaped,
      ownerId,
    ]);
    return { data: [...(await this.request(caller, text)), ...rows.map((one) => row.parse(one))] };
  }

  private async request(caller: Caller, text: string): Promise<SearchResults['data']> {
    if (!isRequestId(text)) return [];
    const rid = text.toLowerCase();
    const found = await this.requests.byIds([rid]);
    const refused = found.length === 0 ? await this.incidents.findRefused(caller, rid) : undefined;
    if (refused) {
      const detail = `${refused.status} ${refused.code}`;
      return [{ kind: 'request', id: rid, title: rid, detail }];
    }
    return found
      .filter(({ user_id: userId }) => caller.role === 'admin' || userId === caller.userId)
      .map(({ rid, model, outcome }) => ({
        kind: 'request',
        id: rid,
        title: rid,
        detail: [model, outcome].filter((part) => part !== null).join(', '),
      }));
  }
}
