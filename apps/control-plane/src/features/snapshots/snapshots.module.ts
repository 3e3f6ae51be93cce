import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { SnapshotBooks } from './snapshot-books.ts';
import { SnapshotPublisher } from './snapshot-publisher.ts';
import { Snapshot } from './snapshot.entity.ts';
import { SnapshotsController } from './snapshots.controller.ts';
import { SnapshotsService } from './snapshots.service.ts';

@Module({
  imports: [TypeOrmModule.forFeature([Snapshot]), ActivityModule, AlertsModule],
  controllers: [SnapshotsController],
  providers: [SnapshotsService, SnapshotPublisher, SnapshotBooks],
  exports: [SnapshotsService, SnapshotPublisher, SnapshotBooks],
})
export class SnapshotsModule {}
