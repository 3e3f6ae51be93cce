import { USAGE_PERIODS } from '../../../platform/database/usage-periods.ts';
import { uuidTimeMs } from '../ingest/read-event.ts';
import { joinNames, NAME_COLUMNS, ownerOfKey } from './request-names.ts';
import type { UsageLogs } from './usage.dto.ts';

export type RequestSelection = Omit<UsageLogs, 'cursor' | 'page_size' | 'format' | 'user_id'> & {
  userId: number | undefined;
  beforeRid: string | undefined;
  limit: number;
  rids?: readonly string[];
};

/**
 * Selects requests, newest first. A rid is a UUIDv7, so its order is the order of time, and the primary key (day, rid) serves questions over all
 * accounts; one account is read through its own index. A correction replaces its reap, because it has the complete figures. `days` (UTC) limits the
 * search.
 */
export function selectRequests(
  which: RequestSelection,
  days?: readonly string[],
): { sql: string; parameters: unknown[] } {
  const parameters: unknown[] = [];
  const bind = (value: unknown): string => `$${parameters.push(value)}`;
  const isOfOneUser = which.userId !== undefined || which.key_id !== undefined;
  const conditions = [
    ...ownerConditions(which, bind),
    ...momentConditions(which, bind, days),
    ...(which.beforeRid === undefined
      ? []
      : [before(which.beforeRid, isOfOneUser ? 'started_at' : 'day', bind)]),
  ];
  const order = isOfOneUser ? 'e.started_at DESC, e.rid DESC' : 'e.day DESC, e.rid DESC';
  const sql = `
    SELECT r.*, ${NAME_COLUMNS}
    FROM (SELECT e.* FROM usage_events e WHERE ${conditions.join(' AND ')} ORDER BY ${order} LIMIT ${bind(which.limit)}) r
      ${joinNames('r')}
    ORDER BY r.rid DESC`;
  return { sql, parameters };
}

type Bind = (value: unknown) => string;

function ownerConditions(which: RequestSelection, bind: Bind): string[] {
  return [
    "e.kind <> 'withdraw'",
    "NOT (e.kind = 'reap' AND EXISTS (SELECT 1 FROM usage_events c WHERE c.day = e.day AND c.rid = e.rid AND c.seq = 1))",
    ...(which.userId === undefined ? [] : [`e.user_id = ${bind(which.userId)}`]),
    // A key's requests are searched among its owner's, because an index by key would cost every booking.
    ...(which.userId !== undefined || which.key_id === undefined
      ? []
      : [`e.user_id = ${ownerOfKey(bind(which.key_id))}`]),
    ...(['key_id', 'model_id', 'upstream_id', 'outcome', 'status'] as const).flatMap((name) =>
      which[name] === undefined ? [] : [`e.${name} = ${bind(which[name])}`],
    ),
    ...(which.is_completed === undefined
      ? []
      : [`(e.outcome IS NOT DISTINCT FROM 'completed') = ${bind(which.is_completed)}`]),
    // A node's name matches all its workers.
    ...(which.node === undefined
      ? []
      : [`split_part(e.node, ':', 1) = split_part(${bind(which.node)}::text, ':', 1)`]),
  ];
}

function momentConditions(which: RequestSelection, bind: Bind, days?: readonly string[]): string[] {
  return [
    ...(days === undefined ? [] : [`e.day = ANY(${bind(days)}::date[])`]),
    ...[which.rid, which.request_id].flatMap((rid) =>
      rid === undefined
        ? []
        : [`e.day = ${bind(dayOf(new Date(uuidTimeMs(rid))))} AND e.rid = ${bind(rid)}`],
    ),
    ...(which.rids === undefined
      ? []
      : [
          `e.day = ANY(${bind(which.rids.map((rid) => dayOf(new Date(uuidTimeMs(rid)))))}::date[]) AND e.rid = ANY(${bind(which.rids)}::uuid[])`,
        ]),
    // The day selects partitions; the exact time decides.
    ...(which.from === undefined
      ? []
      : [`e.day >= ${bind(dayOf(which.from))} AND e.started_at >= ${bind(which.from)}`]),
    ...(which.to === undefined
      ? []
      : [`e.day <= ${bind(dayOf(which.to))} AND e.started_at < ${bind(which.to)}`]),
  ];
}

/**
 * Selects from the roll-ups the days on which a key, a model or an upstream was used, so that a rare one is not searched in all days. Returns
 * undefined where that does not help.
 */
export function selectDays(
  which: RequestSelection,
): { sql: string; parameters: unknown[] } | undefined {
  const parameters: unknown[] = [];
  const bind = (value: unknown): string => `$${parameters.push(value)}`;
  const named = (['key_id', 'model_id', 'upstream_id'] as const).flatMap((name) =>
    which[name] === undefined ? [] : [`${name} = ${bind(which[name])}`],
  );
  if (named.length === 0) return undefined;
  const { rollups, totals } = USAGE_PERIODS.day;
  const isOfOneUser = which.userId !== undefined || which.key_id !== undefined;
  const conditions = [
    'requests > 0',
    ...named,
    ...(isOfOneUser
      ? [
          `user_id = ${which.userId === undefined ? ownerOfKey(bind(which.key_id)) : bind(which.userId)}`,
        ]
      : []),
    ...(which.from === undefined ? [] : [`day >= ${bind(dayOf(which.from))}`]),
    ...(which.to === undefined ? [] : [`day <= ${bind(dayOf(which.to))}`]),
  ];
  const sql = `SELECT DISTINCT day::text AS day FROM ${isOfOneUser ? rollups : totals} WHERE ${conditions.join(' AND ')}`;
  return { sql, parameters };
}

function before(
  rid: string,
  column: 'day' | 'started_at',
  bind: (value: unknown) => string,
): string {
  const moment = new Date(uuidTimeMs(rid));
  const day = bind(dayOf(moment));
  return `e.day <= ${day} AND (e.${column}, e.rid) < (${column === 'day' ? day : bind(moment)}, ${bind(rid)}::uuid)`;
}

function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}
