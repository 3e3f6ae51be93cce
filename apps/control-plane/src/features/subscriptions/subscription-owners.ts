import type { DataSource } from 'typeorm';
import { z } from 'zod';

export interface SubscriptionOwner {
  userId: number;
  modelId: number;
}

const ownerRow = z.object({ id: z.number(), user_id: z.number(), model_id: z.number() });

/** Account and model of each subscription that exists. They never change. */
export async function readSubscriptionOwners(
  dataSource: Pick<DataSource, 'query'>,
  ids: readonly number[],
): Promise<[number, SubscriptionOwner][]> {
  const rows: unknown[] = await dataSource.query(
    'SELECT id, user_id, model_id FROM subscriptions WHERE id = ANY($1::int[])',
    [ids],
  );
  return rows
    .map((raw) => ownerRow.parse(raw))
    .map((row) => [row.id, { userId: row.user_id, modelId: row.model_id }]);
}

/** The subscriptions of these accounts for these models, where there is one. */
export async function readOwnSubscriptions(
  dataSource: Pick<DataSource, 'query'>,
  owners: readonly SubscriptionOwner[],
): Promise<[number, SubscriptionOwner][]> {
  const rows: unknown[] = await dataSource.query(
    'SELECT s.id, s.user_id, s.model_id FROM subscriptions s JOIN unnest($1::int[], $2::int[]) AS v(user_id, model_id) USING (user_id, model_id)',
    [owners.map(({ userId }) => userId), owners.map(({ modelId }) => modelId)],
  );
  return rows
    .map((raw) => ownerRow.parse(raw))
    .map((row) => [row.id, { userId: row.user_id, modelId: row.model_id }]);
}
