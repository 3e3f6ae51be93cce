import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { SnapshotsModule } from '../snapshots/snapshots.module.ts';
import { FinalProofs } from './final-proofs.ts';
import { FleetFormats } from './fleet-formats.ts';
import { FleetStatusService } from './fleet-status.service.ts';
import { FleetSync } from './fleet-sync.ts';
import { LaterRelease } from './later-release.ts';
import { NodeAlerts } from './node-alerts.ts';
import { NodeRepository } from './node-repository.sql.ts';
import { NodeDumps } from './node-dumps.ts';
import { NodeRegistry } from './node-registry.ts';
import { ProxyNode } from './proxy-node.entity.ts';
import { ProxyNodesController } from './proxy-nodes.controller.ts';
import { ProxyNodesService } from './proxy-nodes.service.ts';
import { ProxyController } from './proxy.controller.ts';
import { ProxyService } from './proxy.service.ts';

@Module({
  imports: [TypeOrmModule.forFeature([ProxyNode]), ActivityModule, AlertsModule, SnapshotsModule],
  controllers: [ProxyNodesController, ProxyController],
  providers: [
    ProxyNodesService,
    ProxyService,
    FleetStatusService,
    FleetFormats,
    NodeAlerts,
    NodeRegistry,
    NodeRepository,
    FinalProofs,
    FleetSync,
    LaterRelease,
    NodeDumps,
  ],
  exports: [FinalProofs, ProxyNodesService, NodeRegistry, NodeDumps],
})
export class ProxyNodesModule {}
