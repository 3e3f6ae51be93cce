import { Inject, Injectable } from '@nestjs/common';
import type { NodeState } from '@tollgate/contracts';
import { formatAmount } from '@tollgate/money';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { ListedAlertsService } from '../alerts/listed-alerts.service.ts';
import { ProxyNodesService } from '../proxy-nodes/proxy-nodes.service.ts';
import { nameRecords } from '../names/record-names.sql.ts';
import { SnapshotRepository } from '../snapshots/snapshot-repository.sql.ts';
import { activeTokens } from '../subscriptions/read-subscriptions.sql.ts';
import { UsageStore } from '../usage/api/usage-store.sql.ts';
import { countAccounts } from '../users/read-accounts.sql.ts';
import { balancesByKind } from '../wallet/read-ledger.sql.ts';
import type { Dashboard } from './dashboard-answer.ts';

/** Collects everything that the console's first page shows into one answer. */
@Injectable()
export class DashboardService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly nodes: ProxyNodesService,
    private readonly snapshots: SnapshotRepository,
    private readonly alerts: ListedAlertsService,
    private readonly usage: UsageStore,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async read(): Promise<Dashboard> {
    const [users, nodes, traffic, money, subscriptions, snapshot, alerts] = await Promise.all([
      countAccounts(this.dataSource),
      this.nodesByState(),
      this.traffic(),
      this.money(),
      activeTokens(this.dataSource),
      this.snapshot(),
      this.alerts.open(),
    ]);
    return {
      generated_at: new Date().toISOString(),
      users,
      nodes,
      ...traffic,
      money,
      subscriptions,
      snapshot,
      alerts,
    };
  }

  private async traffic() {
    const { topModels, ...traffic } = await this.usage.traffic();
    const refs = topModels.map(({ model_id: id }) => ({ kind: 'model', id: String(id) }));
    const nameOf = await nameRecords(this.dataSource, refs);
    const named = topModels.map(({ model_id: id, ...counts }) => ({
      model_id: id,
      name: nameOf({ kind: 'model', id: String(id) }).name ?? String(id),
      ...counts,
    }));
    return { ...traffic, top_models: named };
  }

  private async snapshot() {
    const [latest, settings] = await Promise.all([
      this.snapshots.latest(this.dataSource.manager),
      this.snapshots.settings(this.dataSource.manager, { isLocked: false }),
    ]);
    return { version: latest?.version ?? null, pinned_version: settings.pinnedVersion };
  }

  private async nodesByState() {
    const states = await this.nodes.states();
    const count = (state: NodeState): number => states.filter((each) => each === state).length;
    return {
      total: states.length,
      online: count('online'),
      draining: count('draining'),
      stopped: count('stopped'),
      disabled: count('disabled'),
      offline: count('offline'),
    };
  }

  /** Returns the sum of all wallets and the balances of the house accounts, which together are zero. */
  private async money() {
    const rows = await balancesByKind(this.dataSource);
    const balanceOf = (kind: (typeof rows)[number]['kind']): string =>
      formatAmount(rows.find((row) => row.kind === kind)?.balance ?? 0n);
    return {
      currency: this.config.CURRENCY,
      wallets: balanceOf('wallet'),
      payments: balanceOf('payments'),
      revenue: balanceOf('revenue'),
      grants: balanceOf('grants'),
      overdraft: balanceOf('overdraft'),
    };
  }
}
