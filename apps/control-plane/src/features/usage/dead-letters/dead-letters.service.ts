import { Inject, Injectable } from '@nestjs/common';
import { splitFinal, type RelayedEvent } from '@tollgate/contracts';
import { DataSource, IsNull } from 'typeorm';
import { z } from 'zod';
import { whileLocked } from '../../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCK_FAMILIES } from '../../../platform/database/advisory-locks.ts';
import { Transactions } from '../../../platform/database/transactions.ts';
import { readPage, type Page } from '../../../platform/http/list-query.ts';
import { Refusal } from '../../../platform/http/refusal.ts';
import { parseJson } from '../../../platform/parse-json.ts';
import { ActivityService, type Actor } from '../../activity/activity.service.ts';
import { AlertsService } from '../../alerts/alerts.service.ts';
import { Reconciler } from '../../reconciliation/reconciler.service.ts';
import { isRequestId } from '../ingest/read-event.ts';
import { UsageIngest } from '../ingest/usage-ingest.service.ts';
import { DeadLetterRow, type Resolution } from './dead-letter.entity.ts';
import { isBooked } from './read-dead-letters.sql.ts';
import type {
  BookDeadLetter,
  DeadLetterList,
  DeadLetterResponse,
  DismissDeadLetter,
} from './dead-letters.dto.ts';

const payloadSchema = z.record(z.string(), z.unknown());
const placeSchema = z
  .object({
    kind: z.string(),
    subscription_id: z.number(),
    account_id: z.number(),
    model_id: z.number(),
  })
  .transform(({ kind, ...ids }) => ({
    kind,
    id: ids.subscription_id,
    accountId: ids.account_id,
    modelId: ids.model_id,
  }));
const COMPARED_AGAIN_SECONDS = 10;
const finalSchema = z.object({ kind: z.literal('usage'), charge: z.number() });

/** Lists, corrects, books and dismisses usage events that could not be booked. A person decides each of them. */
@Injectable()
export class DeadLettersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly usage: UsageIngest,
    private readonly alerts: AlertsService,
    private readonly activity: ActivityService,
    @Inject(Reconciler) private readonly balances: Pick<Reconciler, 'compare'>,
  ) {}

  list(query: DeadLetterList): Promise<Page<DeadLetterResponse>> {
    const builder = this.dataSource.getRepository(DeadLetterRow).createQueryBuilder('letter');
    if (query.status !== 'all')
      builder.andWhere(
        query.status === 'open' ? 'letter.resolvedAt IS NULL' : 'letter.resolvedAt IS NOT NULL',
      );
    if (query.rid !== undefined) builder.andWhere('letter.rid = :rid', { rid: query.rid });
    if (query.request_id !== undefined)
      builder.andWhere('letter.rid = :requestId', { requestId: query.request_id });
    return readPage(builder, query, {
      columns: { id: 'letter.id', created_at: 'letter.createdAt' },
      search: ['letter.reason', 'letter.rid'],
      map: toDeadLetterResponse,
    });
  }

  /**
   * Books the event as corrected. A final is numbered by what is booked of its request, as one out of a journal: whatever was booked of it before
   * is not booked again. Redis follows by a credit. Whether it has already taken the letter's tokens, and whether they were given back since, no row says for certain (a journal,
   * a forged event, a shard that was filled again), so its subscription is compared first: from then on Redis is without the letter, as the ledger is.
   * Throws dead_letter_unsound when it cannot be booked as it is, dead_letter_resolved, service_unavailable when it cannot be compared.
   */
  book(actor: Actor, id: number, body: BookDeadLetter): Promise<DeadLetterResponse> {
    return this.alone(id, async (letter) => {
      const { relayed, isFinal } = toEvent(letter, body.fields);
      const reason = await this.usage.faultOf(relayed);
      if (reason !== null) throw new Refusal('dead_letter_unsound', { detail: reason });
      await this.compare(relayed);
      const booked = await this.usage.ingest([relayed], {
        fromJournal: isFinal,
        isConfirmed: body.although_day_was_dropped,
        isLate: true,
      });
      if (!(await isBooked(this.dataSource, relayed, isFinal)))
        throw new Refusal('dead_letter_unsound', { detail: letter.reason });
      return this.resolve(actor, letter, {
        resolution: booked.length > 0 ? 'booked' : 'duplicate',
        note: body.note ?? null,
        fields: body.fields,
      });
    });
  }

  dismiss(actor: Actor, id: number, { note }: DismissDeadLetter): Promise<DeadLetterResponse> {
    return this.alone(id, (letter) =>
      this.resolve(actor, letter, { resolution: 'dismissed', note, fields: {} }),
    );
  }

  /** One person resolves a letter at a time; the next one finds it resolved. */
  private alone<T>(id: number, work: (letter: DeadLetterRow) => Promise<T>): Promise<T> {
    const lock = [ADVISORY_LOCK_FAMILIES.deadLetter, id % 2 ** 31] as const;
    return whileLocked(this.dataSource, lock, async () => work(await this.open(id)));
  }

  private async compare({ payload, seq }: RelayedEvent): Promise<void> {
    const place = placeSchema.parse(parseJson(payload));
    // A withdrawal is repeated in Redis. Tokens that a request released into it become a credit, as usage does.
    if ((place.kind === 'withdraw' && seq === '0') || (await this.balances.compare(place))) return;
    throw new Refusal('service_unavailable', {
      detail: `The balance of subscription ${place.id} cannot be compared with Redis now`,
      retryAfterSeconds: COMPARED_AGAIN_SECONDS,
    });
  }

  private async open(id: number): Promise<DeadLetterRow> {
    const letter = await this.dataSource.getRepository(DeadLetterRow).findOneBy({ id });
    if (!letter) throw new Refusal('not_found');
    if (letter.resolvedAt) throw new Refusal('dead_letter_resolved');
    return letter;
  }

  private resolve(
    actor: Actor,
    { id }: DeadLetterRow,
    { resolution, note, fields }: { resolution: Resolution; note: string | null; fields: object },
  ): Promise<DeadLetterResponse> {
    return this.transactions.run(async (tx) => {
      const letters = tx.getRepository(DeadLetterRow);
      await letters.update(
        { id, resolvedAt: IsNull() },
        { resolvedAt: new Date(), resolution, resolvedBy: actor.userId, note },
      );
      this.activity.record(tx, actor, {
        action: `dead_letter.${resolution === 'dismissed' ? 'dismiss' : 'book'}`,
        target: { kind: 'dead_letter', id },
        after: { resolution, note, fields },
      });
      if (!(await letters.existsBy({ resolvedAt: IsNull() })))
        await this.alerts.resolve(tx, { rule: 'dead_letter', subject: 'usage' });
      return toDeadLetterResponse(await letters.findOneByOrFail({ id }));
    });
  }
}

/**
 * Returns the event of a letter with some fields of its payload replaced. A MAC does not survive a correction; the person who books it is responsible
 * for it.
 */
function toEvent(
  { rid, seq, delta, payload }: DeadLetterRow,
  fields: Readonly<Record<string, unknown>>,
): { relayed: RelayedEvent; isFinal: boolean } {
  const arrived = payloadSchema.safeParse(parseJson(splitFinal(payload).payload)).data ?? {};
  const corrected = { ...arrived, ...fields };
  const final = finalSchema.safeParse(corrected).data;
  const origin = { shard: '', epoch: '', outboxId: '' };
  const number = final ? { seq: '0', delta: String(final.charge) } : { seq, delta };
  if (!isRequestId(rid))
    throw new Refusal('dead_letter_unsound', { detail: 'rid is no request id' });
  return {
    relayed: { ...origin, rid, ...number, payload: JSON.stringify(corrected) },
    isFinal: final !== undefined,
  };
}

function toDeadLetterResponse(row: DeadLetterRow): DeadLetterResponse {
  return {
    id: row.id,
    rid: row.rid,
    request_id: row.rid,
    seq: row.seq,
    delta: row.delta,
    payload: row.payload,
    reason: row.reason,
    status: row.resolvedAt === null ? 'open' : 'resolved',
    resolution: row.resolution,
    resolved_by: row.resolvedBy,
    note: row.note,
    created_at: row.createdAt.toISOString(),
    resolved_at: row.resolvedAt?.toISOString() ?? null,
  };
}
