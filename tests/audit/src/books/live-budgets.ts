import { LiveBudgets, type LiveBudget } from '@tollgate/keyspace';
import { z } from 'zod';
import { COUNTED_FROM } from '../../../../apps/control-plane/src/features/budgets/budget-periods.sql.ts';
import type { Finding } from './finding.ts';
import type { Books } from './live-checks.ts';

const budgetRow = z.object({
  id: z.number(),
  user_id: z.number(),
  counted_from: z.coerce.number(),
  periods: z.array(z.object({ started_at: z.number(), value: z.string(), used: z.number() })),
});
type Budget = z.output<typeof budgetRow>;

/** Late usage lowers the limit in Redis instead; a session's or an end user's is counted there too. */
const BUDGETS = `
  SELECT b.id, b.user_id, ${COUNTED_FROM} AS counted_from, coalesce((
    SELECT json_agg(json_build_object('started_at', p.started_at, 'value', p.value, 'used', CASE WHEN p.value = '' THEN p.used - p.late ELSE p.used END))
    FROM budget_periods p WHERE p.budget_id = b.id AND p.started_at >= ${COUNTED_FROM}), '[]') AS periods
  FROM budgets b WHERE b.of = 'usage' AND b.deleted_at IS NULL ORDER BY b.id`;

/** Compares the use of each budget that counts now, in PostgreSQL and in Redis: it is equal once nothing is on its way, and nothing is held. */
export async function compareLiveBudgets({ database, redis, shards }: Books): Promise<Finding> {
  const { rows } = await database.query(BUDGETS);
  const live = new LiveBudgets({ redis, shards });
  const byAccount = Map.groupBy(z.array(budgetRow).parse(rows), ({ user_id }) => user_id);
  const problems: string[] = [];
  let compared = 0;
  for (const [accountId, budgets] of byAccount) {
    const values = new Set(['', ...budgets.flatMap(({ periods }) => periods.map((p) => p.value))]);
    for (const value of values) {
      const counts = await live.read(accountId, value);
      const pairs = budgets.flatMap((budget) => pairsOf(budget, value, counts));
      compared += pairs.length;
      problems.push(...pairs.flatMap((pair) => problemOf(pair)));
    }
  }
  return {
    name: 'live budgets',
    promise: 'what is booked of each budget == Redis, nothing held',
    compared,
    problems,
  };
}

interface Pair {
  name: string;
  booked: number;
  used: number;
  held: number;
}

function pairsOf(budget: Budget, value: string, counts: readonly LiveBudget[]): Pair[] {
  const booked = new Map(
    budget.periods.flatMap((p) => (p.value === value ? [[p.started_at, p.used] as const] : [])),
  );
  const counted = new Map(
    counts
      .filter(({ budgetId, period }) => budgetId === budget.id && period >= budget.counted_from)
      .map((count) => [count.period, count] as const),
  );
  return [...new Set([...booked.keys(), ...counted.keys()])].map((period) => ({
    name: `budget ${budget.id}${value && ` for ${value}`} from ${period}`,
    booked: booked.get(period) ?? 0,
    used: counted.get(period)?.used ?? 0,
    held: counted.get(period)?.held ?? 0,
  }));
}

function problemOf({ name, booked, used, held }: Pair): string[] {
  if (booked === used && held === 0) return [];
  return [`${name}: PostgreSQL ${booked}; Redis ${used}, held ${held}`];
}
