import { Module } from '@nestjs/common';
import { ProxyNodesModule } from '../proxy-nodes/proxy-nodes.module.ts';
import { SnapshotsModule } from '../snapshots/snapshots.module.ts';
import { FleetFigures } from './fleet-figures.ts';
import { LedgerFigures } from './ledger-figures.ts';
import { PoolFigures } from './pool-figures.ts';

@Module({
  imports: [ProxyNodesModule, SnapshotsModule],
  providers: [FleetFigures, LedgerFigures, PoolFigures],
})
export class FiguresModule {}
