import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { SnapshotsModule } from '../snapshots/snapshots.module.ts';
import { ProxyNodesModule } from '../proxy-nodes/proxy-nodes.module.ts';
import { ConnectionTestService } from './connection-test.service.ts';
import { UpstreamSecrets } from './upstream-secrets.ts';
import { Upstream } from './upstream.entity.ts';
import { UpstreamsController } from './upstreams.controller.ts';
import { UpstreamsService } from './upstreams.service.ts';

@Module({
  imports: [
    TypeOrmModule.forFeature([Upstream]),
    ActivityModule,
    ProxyNodesModule,
    SnapshotsModule,
  ],
  controllers: [UpstreamsController],
  providers: [UpstreamsService, UpstreamSecrets, ConnectionTestService],
  exports: [UpstreamsService],
})
export class UpstreamsModule {}
