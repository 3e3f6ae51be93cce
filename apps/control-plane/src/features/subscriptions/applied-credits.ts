import type { DataSource, EntityManager } from 'typeorm';

/** Notes which credits of a subscription Redis has. */
export async function noteAppliedCredits(
  dataSource: Pick<DataSource, 'query'>,
  subscriptionId: number,
  seqs: readonly number[],
): Promise<void> {
  await dataSource.query(
    'UPDATE token_credits SET applied_at = now() WHERE subscription_id = $1 AND seq = ANY($2::bigint[]) AND applied_at IS NULL',
    [subscriptionId, seqs],
  );
}

/** Redis has lost those after this one. */
export async function forgetAppliedCredits(
  tx: EntityManager,
  subscriptionId: number,
  afterSeq: number,
): Promise<void> {
  await tx.query(
    'UPDATE token_credits SET applied_at = NULL WHERE subscription_id = $1 AND seq > $2',
    [subscriptionId, afterSeq],
  );
}
