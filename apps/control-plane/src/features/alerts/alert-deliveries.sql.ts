import type { DataSource } from 'typeorm';
import { z } from 'zod';

const BATCH = 10;
/** The pauses are 5 s, 10 s, 20 s and so on, at most one hour; the attempts last about a day. */
const FIRST_PAUSE_SECONDS = 5;
const PAUSE_SECONDS_MAX = 3_600;

const deliveryRow = z
  .object({
    alert_id: z.string().transform(Number),
    event: z.enum(['raised', 'resolved']),
    attempts: z.number(),
  })
  .transform(({ alert_id: alertId, ...row }) => ({ alertId, ...row }));
export type Delivery = z.output<typeof deliveryRow>;

/**
 * Claims deliveries that are due. The claim already sets the time of the next attempt, so a killed replica loses none, and two replicas rarely send
 * the same one.
 */
export async function claimDeliveries(dataSource: DataSource): Promise<Delivery[]> {
  const [rows]: [unknown[], number] = await dataSource.query(
    `UPDATE alert_deliveries SET attempts = attempts + 1, due_at = now() + least(${PAUSE_SECONDS_MAX}, ${FIRST_PAUSE_SECONDS} * 2 ^ least(attempts, 20)) * interval '1 second'
     WHERE (alert_id, event) IN (SELECT alert_id, event FROM alert_deliveries WHERE due_at <= now() ORDER BY created_at, event LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
     RETURNING alert_id, event, attempts`,
  );
  return rows
    .map((row) => deliveryRow.parse(row))
    .toSorted((a, b) => a.alertId - b.alertId || a.event.localeCompare(b.event, 'en'));
}

export async function forgetDelivery(
  dataSource: DataSource,
  { alertId, event }: Pick<Delivery, 'alertId' | 'event'>,
): Promise<void> {
  await dataSource.query('DELETE FROM alert_deliveries WHERE alert_id = $1 AND event = $2', [
    alertId,
    event,
  ]);
}
