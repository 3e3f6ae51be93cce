import { Module } from '@nestjs/common';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { LiveStateModule } from '../live-state/live-state.module.ts';
import { ProxyNodesModule } from '../proxy-nodes/proxy-nodes.module.ts';
import { SnapshotsModule } from '../snapshots/snapshots.module.ts';
import { BudgetFigures } from './budget-figures.ts';
import { FleetFigures } from './fleet-figures.ts';
import { LedgerFigures } from './ledger-figures.ts';
import { PoolFigures } from './pool-figures.ts';

@Module({
  imports: [AlertsModule, LiveStateModule, ProxyNodesModule, SnapshotsModule],
  providers: [BudgetFigures, FleetFigures, LedgerFigures, PoolFigures],
})
export class FiguresModule {}
