import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { Reconciler } from '../reconciliation/reconciler.service.ts';
import { hasTransactions } from '../wallet/read-ledger.sql.ts';
import { brokenRows, CHECKED_NAMES } from './broken-rows.sql.ts';
import { LIVE_BALANCES } from './equalities.ts';

const LOOK_MS = 10 * 60_000;
const AUDIT_EVERY = '24 hours';
/** The daily audit checks the rules of usage for this day and the one before. `tollgate-ops audit` checks every day that is kept. */
const RULES_LOOK_BACK_MS = 24 * 3_600_000;
/** An audit of a replica that died blocks the next one for this long. */
const STUCK_AFTER = '30 minutes';

/** Audits the books once a day and when an administrator asks. It changes nothing; the reconciliation repairs differences in Redis. */
@Injectable()
export class BooksAudit extends BackgroundService {
  private running: Promise<void> | undefined;
  private isStopping = false;
  constructor(
    private readonly dataSource: DataSource,
    private readonly reconciler: Reconciler,
  ) {
    super({
      name: 'books',
      everyMs: LOOK_MS,
      failing: 'the ledger audit failed; trying again',
      stopsFirst: true,
    });
  }

  override async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await super.beforeApplicationShutdown();
    await this.running;
  }

  /** Begins an audit unless one runs. Returns whether it began one. */
  async begin(): Promise<boolean> {
    const [rows]: [unknown[], number] = await this.dataSource.query(
      `UPDATE books_audit SET running_since = now() WHERE running_since IS NULL OR running_since < now() - interval '${STUCK_AFTER}' RETURNING 1`,
    );
    if (rows.length === 0) return false;
    this.running = this.audit()
      .catch((error: unknown) => this.logger.warn(error, 'the ledger audit was interrupted'))
      .finally(() => (this.running = undefined));
    return true;
  }

  protected async runOnce(): Promise<void> {
    const rows: unknown[] = await this.dataSource.query(
      `SELECT 1 WHERE coalesce((SELECT max(checked_at) FROM books_proofs), '-infinity') < now() - interval '${AUDIT_EVERY}'`,
    );
    if (rows.length === 0 || !(await hasTransactions(this.dataSource))) return;
    if (await this.begin()) await this.running;
  }

  private async audit(): Promise<void> {
    try {
      const since = new Date(Date.now() - RULES_LOOK_BACK_MS).toISOString().slice(0, 10);
      for (const name of CHECKED_NAMES) {
        if (this.isStopping) return;
        await this.prove(name, () => brokenRows(this.dataSource, name, since));
      }
      if (!this.isStopping)
        await this.prove(LIVE_BALANCES.name, async () => {
          const repaired = await this.reconciler.runAlone();
          return Array.from({ length: repaired }, () => ({ repaired }));
        });
    } finally {
      await this.dataSource.query('UPDATE books_audit SET running_since = NULL');
    }
  }

  private async prove(name: string, broken: () => Promise<object[]>): Promise<void> {
    const startedAt = performance.now();
    const rows = await broken();
    await this.dataSource.query(
      `INSERT INTO books_proofs AS p (name, checked_at, proven_at, problems, example, duration_ms)
       VALUES ($1, now(), CASE WHEN $2 = 0 THEN now() END, $2, $3, $4)
       ON CONFLICT (name) DO UPDATE SET checked_at = excluded.checked_at, proven_at = coalesce(excluded.proven_at, p.proven_at),
         problems = excluded.problems, example = excluded.example, duration_ms = excluded.duration_ms`,
      [
        name,
        rows.length,
        rows[0] ? JSON.stringify(rows[0]) : null,
        Math.round(performance.now() - startedAt),
      ],
    );
  }
}
