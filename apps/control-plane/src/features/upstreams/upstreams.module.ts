import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { SnapshotsModule } from '../snapshots/snapshots.module.ts';
import { Upstream } from './upstream.entity.ts';
import { UpstreamsController } from './upstreams.controller.ts';
import { UpstreamsService } from './upstreams.service.ts';

@Module({
  imports: [TypeOrmModule.forFeature([Upstream]), ActivityModule, SnapshotsModule],
  controllers: [UpstreamsController],
  providers: [UpstreamsService],
  exports: [UpstreamsService],
})
export class UpstreamsModule {}
