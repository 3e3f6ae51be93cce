import { Module } from '@nestjs/common';
import { ProxyNodesModule } from '../proxy-nodes/proxy-nodes.module.ts';
import { SnapshotsModule } from '../snapshots/snapshots.module.ts';
import { ConfigCheckController } from './config-check.controller.ts';
import { ConfigCheck } from './config-check.service.ts';

@Module({
  imports: [ProxyNodesModule, SnapshotsModule],
  controllers: [ConfigCheckController],
  providers: [ConfigCheck],
})
export class ConfigCheckModule {}
