import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityController } from './activity.controller.ts';
import { ActivityLogEntry } from './activity-log.entity.ts';
import { ActivityLogsService } from './activity-logs.service.ts';
import { ActivityService } from './activity.service.ts';

@Module({
  imports: [TypeOrmModule.forFeature([ActivityLogEntry])],
  controllers: [ActivityController],
  providers: [ActivityService, ActivityLogsService],
  exports: [ActivityService, ActivityLogsService],
})
export class ActivityModule {}
