import type { FleetMessage, NodeDump, NodeTable } from '@tollgate/contracts';

export interface DumpTable {
  entries: () => number;
  limit: number | null;
  /** Returns rows without secrets, because administrators see them. `accountId` selects the rows of one account, where the table has accounts. */
  rows: (accountId?: number) => NodeDump['rows'];
}
export type DumpTables = Readonly<Record<NodeTable, DumpTable>>;

type DumpRequest = Extract<FleetMessage, { kind: 'dump' }>;

/** The contract bounds the rows of one answer to this number. */
const PAGE_SIZE_MAX = 1_000;

/** Returns one page of a worker's in-memory tables (`proxy/stats` and `proxy/stats/dict`). */
export function composeDump(
  tables: DumpTables,
  request: DumpRequest,
  { name, worker }: { name: string; worker: number },
): NodeDump {
  // A control plane of a later release may ask for a table that this node does not have.
  const [, table] = Object.entries(tables).find(([name]) => name === request.table) ?? [];
  const pageSize = Math.min(request.page_size, PAGE_SIZE_MAX);
  const rows = table?.rows(request.account_id) ?? [];
  return {
    request_id: request.request_id,
    name,
    worker,
    tables: Object.entries(tables).map(([table, { entries, limit }]) => ({
      table,
      entries: entries(),
      limit,
    })),
    table: request.table,
    page: request.page,
    page_size: pageSize,
    total: rows.length,
    rows: rows.slice((request.page - 1) * pageSize, request.page * pageSize),
  };
}
