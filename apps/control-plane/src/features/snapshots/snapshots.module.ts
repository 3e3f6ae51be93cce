import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { SnapshotRepository } from './snapshot-repository.sql.ts';
import { SnapshotPublisher } from './snapshot-publisher.ts';
import { Snapshot } from './snapshot.entity.ts';
import { SnapshotsController } from './snapshots.controller.ts';
import { SnapshotsService } from './snapshots.service.ts';

@Module({
  imports: [TypeOrmModule.forFeature([Snapshot]), ActivityModule, AlertsModule],
  controllers: [SnapshotsController],
  providers: [SnapshotsService, SnapshotPublisher, SnapshotRepository],
  exports: [SnapshotsService, SnapshotPublisher, SnapshotRepository],
})
export class SnapshotsModule {}
