import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { ModelsModule } from '../models/models.module.ts';
import { ProxyNodesModule } from '../proxy-nodes/proxy-nodes.module.ts';
import { SnapshotsModule } from '../snapshots/snapshots.module.ts';
import { UpstreamsModule } from '../upstreams/upstreams.module.ts';
import { UsageModule } from '../usage/usage.module.ts';
import { Route } from './route.entity.ts';
import { RoutingController } from './routing.controller.ts';
import { RoutingHealthService } from './routing-health.service.ts';
import { RoutingSimulationService } from './routing-simulation.service.ts';
import { RoutingService } from './routing.service.ts';

@Module({
  imports: [
    TypeOrmModule.forFeature([Route]),
    ActivityModule,
    ModelsModule,
    ProxyNodesModule,
    SnapshotsModule,
    UpstreamsModule,
    UsageModule,
  ],
  controllers: [RoutingController],
  providers: [RoutingService, RoutingSimulationService, RoutingHealthService],
  exports: [RoutingService],
})
export class RoutingModule {}
