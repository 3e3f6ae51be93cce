import { useQuery } from '@tanstack/react-query';
import { burnRateQuery } from '../../api/previews.ts';

/** Returns the tokens charged in the last 24 hours, by model. */
export function useUsedInDay(userId: number): ReadonlyMap<number, number> {
  const { data } = useQuery(burnRateQuery(userId));
  return new Map((data ?? []).map((row) => [row.model_id, row.used_last_day] as const));
}
