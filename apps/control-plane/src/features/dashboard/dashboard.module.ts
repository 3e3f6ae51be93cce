import { Module } from '@nestjs/common';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { ProxyNodesModule } from '../proxy-nodes/proxy-nodes.module.ts';
import { SnapshotsModule } from '../snapshots/snapshots.module.ts';
import { UsageModule } from '../usage/usage.module.ts';
import { DashboardController } from './dashboard.controller.ts';
import { DashboardService } from './dashboard.service.ts';

@Module({
  imports: [AlertsModule, ProxyNodesModule, SnapshotsModule, UsageModule],
  controllers: [DashboardController],
  providers: [DashboardService],
})
export class DashboardModule {}
