import { Injectable, Logger } from '@nestjs/common';
import { USAGE_QUEUE } from '@tollgate/contracts';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { QueueBacklog } from '../../platform/queues/queue-backlog.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { countDeadLetters } from '../usage/dead-letters/read-dead-letters.sql.ts';
import { BooksAudit } from './books-audit.service.ts';
import type { Books } from './books.dto.ts';
import { CHECKED } from './broken-rows.sql.ts';
import { LIVE_BALANCES } from './equalities.ts';

const proofRow = z.object({
  name: z.string(),
  checked_at: z.date(),
  proven_at: z.date().nullable(),
  problems: z.number(),
  example: z.record(z.string(), z.unknown()).nullable(),
  duration_ms: z.number(),
});
const stateRow = z.object({ running_since: z.date().nullable() });

@Injectable()
export class BooksService {
  private readonly logger = new Logger('books');

  constructor(
    private readonly dataSource: DataSource,
    private readonly audit: BooksAudit,
    private readonly transactions: Transactions,
    private readonly activity: ActivityService,
    private readonly backlog: QueueBacklog,
  ) {}

  /** Begins an audit unless one runs. The answer says since when it runs. */
  async run(caller: Caller): Promise<Books> {
    if (await this.audit.begin())
      await this.transactions.run(async (tx) =>
        this.activity.record(tx, caller, {
          action: 'books.audit',
          target: { kind: 'books', id: null },
        }),
      );
    return this.read();
  }

  async read(): Promise<Books> {
    const [state]: unknown[] = await this.dataSource.query('SELECT running_since FROM books_audit');
    const rows: unknown[] = await this.dataSource.query('SELECT * FROM books_proofs');
    const proofs = new Map(rows.map((row) => proofRow.parse(row)).map((row) => [row.name, row]));
    const { running_since: runningSince } = stateRow.parse(state);
    return {
      running_since: runningSince?.toISOString() ?? null,
      checks: [
        ...Object.entries(CHECKED).map(([name, { says }]) => ({ name, says })),
        LIVE_BALANCES,
      ].map(({ name, says }) => toCheck({ name, says }, proofs.get(name))),
      dead_letters: await countDeadLetters(this.dataSource),
      waiting_jobs: await this.waitingJobs(),
    };
  }

  private async waitingJobs(): Promise<number | null> {
    try {
      const { counts } = await this.backlog.standing(USAGE_QUEUE);
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    } catch (error) {
      this.logger.warn(error, 'the queue cannot be counted');
      return null;
    }
  }
}

function toCheck(
  { name, says }: { name: string; says: string },
  proof: z.output<typeof proofRow> | undefined,
): Books['checks'][number] {
  return {
    name,
    says,
    is_sound: proof ? proof.problems === 0 : null,
    problems: proof?.problems ?? 0,
    example: proof?.example ?? null,
    checked_at: proof?.checked_at.toISOString() ?? null,
    proven_at: proof?.proven_at?.toISOString() ?? null,
    duration_ms: proof?.duration_ms ?? null,
  };
}
