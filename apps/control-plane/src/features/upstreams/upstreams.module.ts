import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { SnapshotsModule } from '../snapshots/snapshots.module.ts';
import { ProxyNodesModule } from '../proxy-nodes/proxy-nodes.module.ts';
import { ConnectionTestService } from './connection-test.service.ts';
import { CredentialsService } from './credentials.service.ts';
import { TrustWatch } from './trust-watch.ts';
import { UpstreamSecrets } from './upstream-secrets.ts';
import { UpstreamWatch } from './upstream-watch.ts';
import { UpstreamCredential } from './upstream-credential.entity.ts';
import { Upstream } from './upstream.entity.ts';
import { UpstreamsController } from './upstreams.controller.ts';
import { UpstreamsService } from './upstreams.service.ts';

@Module({
  imports: [
    TypeOrmModule.forFeature([Upstream, UpstreamCredential]),
    ActivityModule,
    AlertsModule,
    ProxyNodesModule,
    SnapshotsModule,
  ],
  controllers: [UpstreamsController],
  providers: [
    UpstreamsService,
    CredentialsService,
    UpstreamSecrets,
    ConnectionTestService,
    TrustWatch,
    UpstreamWatch,
  ],
  exports: [UpstreamsService],
})
export class UpstreamsModule {}
