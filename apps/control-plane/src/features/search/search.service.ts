import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import type { Caller } from '../../platform/access/caller.ts';
import { isRequestId } from '../usage/ingest/read-event.ts';
import { UsageLogsService } from '../usage/api/usage-logs.service.ts';
import type { SearchResults } from './search.dto.ts';

const PER_KIND = 6;

const row = z.object({
  kind: z.enum(['user', 'model', 'key', 'upstream', 'node']),
  id: z.coerce.string(),
  title: z.string(),
  detail: z.string(),
});

/** `$1` is the pattern, `$2` the text as typed, `$3` the account whose keys are searched (null: all accounts). Names that begin with the text come first. */
const SELECT = {
  user: "SELECT 'user' AS kind, id, username AS title, status AS detail FROM users WHERE deleted_at IS NULL AND (username ILIKE $1 OR id::text = $2) AND $3::int IS NULL",
  model:
    "SELECT 'model' AS kind, id, name AS title, display_name AS detail FROM models WHERE deleted_at IS NULL AND (is_on_shelf OR $3::int IS NULL) AND (name ILIKE $1 OR display_name ILIKE $1 OR id::text = $2)",
  key: "SELECT 'key' AS kind, id, name AS title, key_prefix AS detail FROM api_keys WHERE status <> 'deleted' AND playground_sid IS NULL AND ($3::int IS NULL OR user_id = $3) AND (name ILIKE $1 OR key_prefix ILIKE $1 OR id::text = $2)",
  upstream:
    "SELECT 'upstream' AS kind, id, name AS title, protocol AS detail FROM upstreams WHERE deleted_at IS NULL AND (name ILIKE $1 OR id::text = $2) AND $3::int IS NULL",
  node: "SELECT 'node' AS kind, id, name AS title, CASE WHEN enabled THEN 'enabled' ELSE 'disabled' END AS detail FROM proxy_nodes WHERE deleted_at IS NULL AND (name ILIKE $1 OR id::text = $2) AND $3::int IS NULL",
} as const;
const ALL = Object.values(SELECT)
  .map(
    (select) =>
      `(SELECT * FROM (${select}) found ORDER BY title ILIKE $2 || '%' DESC, title LIMIT ${PER_KIND})`,
  )
  .join(' UNION ALL ');

/** What the command palette finds. Users find what is theirs and what is for sale; administrators everything. */
@Injectable()
export class SearchService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly requests: UsageLogsService,
  ) {}

  async search(caller: Caller, text: string): Promise<SearchResults> {
    const ownerId = caller.role === 'admin' ? null : caller.userId;
    const escaped = text.replace(/[\\%_]/g, '\\$&');
    const rows: unknown[] = await this.dataSource.query(ALL, [`%${escaped}%`, escaped, ownerId]);
    return { data: [...(await this.request(caller, text)), ...rows.map((one) => row.parse(one))] };
  }

  private async request(caller: Caller, text: string): Promise<SearchResults['data']> {
    if (!isRequestId(text)) return [];
    const found = await this.requests.byIds([text.toLowerCase()]);
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
