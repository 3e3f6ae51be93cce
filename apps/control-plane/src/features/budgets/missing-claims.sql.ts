import { RATE_OF_TOKENS, readClaims } from '@tollgate/contracts';
import { isModelAllowed } from '@tollgate/keyspace';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import { prepared } from '../../platform/database/prepared.ts';
import { ownersOfBudgets } from '../live-state/live-rows.sql.ts';
import { BUDGET_UNITS } from './budgets.dto.ts';
import { admittedIn, BUDGET_PERIODS, periodStarts } from './calendar.ts';

/** Redis can lose a definition that is younger. Older ones are in each of its files, or `LostTail` and the reconciliation have written them again. */
const YOUNG_MS = 3_600_000;

/** Describes an admitted request, whose final names `claims`. */
export interface AdmittedRequest {
  accountId: number;
  keyId: number;
  priceVersionId: number;
  beganAtMs: number;
  claims: string;
  /** Is false where budgets of requests may have counted it under another model. */
  isFirst: boolean;
}

const youngRow = z.object({
  id: z.number(),
  user_id: z.number(),
  key_id: z.number().nullable(),
  unit: z.enum(BUDGET_UNITS),
  models: z.string(),
  period: z.enum(BUDGET_PERIODS),
  time_zone: z.string(),
  starts: z.array(z.union([z.string(), z.number()]).transform(toSafeInteger)),
  window_minutes: z.number().nullable(),
  defined_at: z.date(),
});
export type YoungBudget = z.output<typeof youngRow>;

/** Selects the budgets of these accounts that were defined between two times. A final does not name the session or the end user of its request. */
const YOUNG = prepared(`
  SELECT b.id, b.user_id, b.key_id, b.unit, b.models, b.period, b.time_zone, b.starts, b.window_minutes, b.defined_at
  FROM budgets b WHERE b.user_id = ANY($1::int[]) AND b.deleted_at IS NULL AND b.of = 'usage' AND b.each IS NULL AND b.defined_at BETWEEN $2 AND $3 ORDER BY b.id`);

/**
 * Returns the requests whose finals do not name a budget of their key or account that was defined when they began, with those budgets: Redis had lost
 * the definition with the end of its file, or had not received it yet. `claimOn` says what each counts.
 */
export async function lackingBudgets<Request extends AdmittedRequest>(
  tx: EntityManager,
  requests: readonly Request[],
): Promise<{ request: Request; budgets: YoungBudget[] }[]> {
  const young = await readYoung(tx, requests);
  const ofKeys = new Set(young.flatMap((budget) => (budget.key_id === null ? [] : budget.user_id)));
  const owners = await ownersOfBudgets(
    tx,
    requests.flatMap(({ accountId, keyId }) => (ofKeys.has(accountId) ? keyId : [])),
  );
  return requests.flatMap((request) => {
    const keyId = owners.get(request.keyId) ?? request.keyId;
    const budgets = young.filter((budget) => lacks({ ...request, keyId }, budget));
    return budgets.length === 0 ? [] : [{ request, budgets }];
  });
}

async function readYoung(
  tx: Pick<EntityManager, 'query'>,
  requests: readonly AdmittedRequest[],
): Promise<YoungBudget[]> {
  if (requests.length === 0) return [];
  const began = requests.map(({ beganAtMs }) => beganAtMs);
  const rows: unknown[] = await tx.query(YOUNG, [
    [...new Set(requests.map(({ accountId }) => accountId))],
    new Date(Math.min(...began) - YOUNG_MS),
    new Date(Math.max(...began)),
  ]);
  return rows.map((row) => youngRow.parse(row));
}

function lacks(
  { accountId, keyId, beganAtMs, claims }: AdmittedRequest,
  { id, user_id, key_id, defined_at: definedAt }: YoungBudget,
): boolean {
  const age = beganAtMs - definedAt.getTime();
  return (
    user_id === accountId &&
    (key_id === null || key_id === keyId) &&
    age >= 0 &&
    age <= YOUNG_MS &&
    !readClaims(claims).some(({ budgetId }) => budgetId === id)
  );
}

/**
 * Returns the claim of a request on a budget, as `claim_on` of budgets.lua makes it; '' where the budget does not count it. Nothing was held, so the
 * claim has no base.
 */
export function claimOn(
  budget: YoungBudget,
  { beganAtMs, isFirst }: AdmittedRequest,
  { modelName, pricePerMillion }: { modelName: string; pricePerMillion: number },
): string {
  const { id, unit, models } = budget;
  if (!isModelAllowed(models, modelName)) return '';
  if ((unit === 'money' && pricePerMillion === 0) || (unit === 'requests' && !isFirst)) return '';
  const rates = {
    charged_tokens: String(RATE_OF_TOKENS),
    tokens: `${RATE_OF_TOKENS}+0`,
    money: String(pricePerMillion),
    requests: '0',
  };
  return `${id}:${periodOf(budget, beganAtMs)}:${rates[unit]}`;
}

/** A budget that was reset since the request began no longer lists the period of its admission. */
function periodOf(
  { period, time_zone: timeZone, starts, window_minutes: windowMinutes }: YoungBudget,
  atMs: number,
): number {
  const seconds = Math.floor(atMs / 1_000);
  const isListed = starts.some((start) => start <= seconds);
  const known = isListed ? starts : periodStarts({ period, timeZone }, { atMs, count: 1 });
  return admittedIn({ starts: known, windowMinutes }, seconds);
}
