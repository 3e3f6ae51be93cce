import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Metrics } from '../../platform/metrics/metrics.ts';
import { readFills } from '../budgets/budget-fills.sql.ts';

/** The sums over all budgets are read at most this often, not at every scrape. */
const EVERY_MS = 30_000;

/** Shows how far budgets are used, by unit and scope. Every replica shows the same figures. */
@Injectable()
export class BudgetFigures implements OnModuleInit {
  private readAtMs = Number.NEGATIVE_INFINITY;
  private readonly share = this.metrics.gauge({
    name: 'tollgate_budget_used_share',
    help: 'The largest share of its amount that a budget has used in its period, by scope and unit.',
    labelNames: ['scope', 'unit'],
  });
  private readonly budgets = this.metrics.gauge({
    name: 'tollgate_budgets',
    help: 'Budgets by scope, unit and whether they are used up.',
    labelNames: ['scope', 'unit', 'is_used_up'],
  });

  constructor(
    private readonly metrics: Metrics,
    private readonly dataSource: DataSource,
  ) {}

  onModuleInit(): void {
    const gauges = [this.share, this.budgets];
    this.metrics.collectWith({ name: 'budgets', gauges, collect: () => this.read() });
  }

  private async read(): Promise<void> {
    const now = performance.now();
    if (now - this.readAtMs < EVERY_MS) return;
    this.readAtMs = Number.NEGATIVE_INFINITY;
    const fills = await readFills(this.dataSource);
    // A deleted budget has no figure.
    this.share.reset();
    this.budgets.reset();
    for (const { scope, unit, share, budgets, usedUp } of fills) {
      this.share.set({ scope, unit }, share);
      this.budgets.set({ scope, unit, is_used_up: 'true' }, usedUp);
      this.budgets.set({ scope, unit, is_used_up: 'false' }, budgets - usedUp);
    }
    this.readAtMs = now;
  }
}
