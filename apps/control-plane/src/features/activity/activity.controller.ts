import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Permission } from '../../platform/access/permission.ts';
import { cursorPageOf } from '../../platform/http/cursor.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import {
  activityLogResponseSchema,
  activityLogsQuery,
  ActivityLogsService,
  type ActivityLogsQuery,
} from './activity-logs.service.ts';

@ApiTags('activity')
@Controller('activity')
export class ActivityController {
  constructor(private readonly logs: ActivityLogsService) {}

  @Get('logs')
  @Permission('admin')
  @Answers('Who changed what, newest first', cursorPageOf(activityLogResponseSchema))
  list(@Query({ schema: activityLogsQuery }) query: ActivityLogsQuery) {
    return this.logs.list(query);
  }
}
