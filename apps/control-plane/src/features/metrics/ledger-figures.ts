import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { Metrics } from '../../platform/metrics/metrics.ts';
import type { WaitingRows } from '../../platform/database/waiting-rows.ts';
import { ALERT_RULES } from '../alerts/alert-rules.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { LiveStatePump } from '../live-state/live-state-pump.ts';
import { waitingDeadLetters } from '../usage/dead-letters/read-dead-letters.sql.ts';
import { balancesByKind } from '../wallet/read-ledger.sql.ts';

/** The sums over all wallets are read at most this often, not at every scrape. */
const MONEY_EVERY_MS = 30_000;
const MICROS = 1e6;

/** Shows figures of the ledger and its watchers: alerts, dead letters, writes that wait for Redis, money. Every replica shows the same figures. */
@Injectable()
export class LedgerFigures implements OnModuleInit {
  private moneyReadAtMs = Number.NEGATIVE_INFINITY;
  private readonly openAlerts = this.metrics.gauge({
    name: 'tollgate_alerts_open',
    help: 'Open alerts of the control plane.',
    labelNames: ['rule', 'severity'],
  });
  /** Counts recent alerts, because an alert that is resolved within milliseconds would fall between two scrapes. */
  private readonly recentAlerts = this.metrics.gauge({
    name: 'tollgate_alerts_recent',
    help: 'Alerts of the control plane that are open or closed within the last 15 minutes.',
    labelNames: ['rule', 'severity'],
  });
  private readonly deadLetters = this.metrics.gauge({
    name: 'tollgate_dead_letters_open',
    help: 'Usage events that could not be booked and wait for an administrator.',
  });
  private readonly deadLetterAge = this.metrics.gauge({
    name: 'tollgate_dead_letters_oldest_seconds',
    help: 'Age of the oldest open dead letter; 0 without one.',
  });
  private readonly liveWrites = this.metrics.gauge({
    name: 'tollgate_live_writes_waiting',
    help: 'Changes of keys, accounts and subscriptions that are not in Redis yet.',
  });
  private readonly liveWriteAge = this.metrics.gauge({
    name: 'tollgate_live_writes_oldest_seconds',
    help: 'Age of the oldest change that is not in Redis yet; 0 without one.',
  });
  private readonly money = this.metrics.gauge({
    name: 'tollgate_ledger_balance',
    help: 'Sum of the ledger accounts of a kind, in units of the currency; all kinds add up to 0.',
    labelNames: ['kind', 'currency'],
  });

  constructor(
    private readonly metrics: Metrics,
    private readonly dataSource: DataSource,
    private readonly alerts: AlertsService,
    private readonly pump: LiveStatePump,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    const { openAlerts, recentAlerts, deadLetters, deadLetterAge, liveWrites, liveWriteAge } = this;
    this.metrics.collectWith({
      name: 'ledger',
      gauges: [openAlerts, recentAlerts, deadLetters, deadLetterAge, liveWrites, liveWriteAge],
      collect: async () => {
        await this.readAlerts();
        show(await waitingDeadLetters(this.dataSource), deadLetters, deadLetterAge);
        show(await this.pump.waiting(), liveWrites, liveWriteAge);
      },
    });
    this.metrics.collectWith({
      name: 'money',
      gauges: [this.money],
      collect: () => this.readMoney(),
    });
  }

  private async readAlerts(): Promise<void> {
    const rows = await this.alerts.countByRule();
    const countsOf = new Map(rows.map(({ rule, ...counts }) => [rule, counts]));
    // Every rule has its series from the start, so that a first alert is an increase.
    for (const [rule, severity] of Object.entries(ALERT_RULES)) {
      this.openAlerts.set({ rule, severity }, countsOf.get(rule)?.open ?? 0);
      this.recentAlerts.set({ rule, severity }, countsOf.get(rule)?.recent ?? 0);
    }
  }

  private async readMoney(): Promise<void> {
    const now = performance.now();
    if (now - this.moneyReadAtMs < MONEY_EVERY_MS) return;
    this.moneyReadAtMs = Number.NEGATIVE_INFINITY;
    for (const { kind, balance } of await balancesByKind(this.dataSource))
      this.money.set({ kind, currency: this.config.CURRENCY }, Number(balance) / MICROS);
    this.moneyReadAtMs = now;
  }
}

function show(
  waiting: WaitingRows,
  count: LedgerFigures['liveWrites'],
  age: LedgerFigures['liveWriteAge'],
): void {
  count.set(waiting.count);
  age.set(waiting.age);
}
