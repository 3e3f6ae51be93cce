import { useQuery } from '@tanstack/react-query';
import { statisticsQuery } from '../../api/usage.ts';

/** Tokens charged in the last 24 hours, by model. */
export function useUsedInDay(userId: number): ReadonlyMap<number, number> {
  const { data } = useQuery(
    statisticsQuery({ user_id: userId, group_by: 'model' }, { name: '24h', interval: 'hour' }),
  );
  const used = new Map<number, number>();
  for (const { model_id: id, charge } of data?.data ?? [])
    if (id !== null && id !== undefined) used.set(id, (used.get(id) ?? 0) + charge);
  return used;
}
