import { Controller, Get, Query } from '@nestjs/common';
import { Permission } from '../../platform/access/permission.ts';
import { ActivityLogsService, activityLogsQuery, type ActivityLogsQuery } from './activity-logs.service.ts';

@Controller('activity')
export class ActivityController {
  constructor(private readonly logs: ActivityLogsService) {}

  @Get('logs')
  @Permission('admin')
  list(@Query({ schema: activityLogsQuery }) query: ActivityLogsQuery) {
    return this.logs.list(query);
  }
}
