import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Permission } from '../../platform/access/permission.ts';
import { pageOf } from '../../platform/http/list-query.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { alertListSchema, alertResponseSchema, type AlertList } from './alerts.dto.ts';
import { ListedAlertsService } from './listed-alerts.service.ts';

@ApiTags('alerts')
@Controller('admin/alerts')
export class AlertsController {
  constructor(private readonly alerts: ListedAlertsService) {}

  @Get()
  @Permission('admin')
  @Answers('List alerts, open ones unless `status` says otherwise', pageOf(alertResponseSchema))
  list(@Query({ schema: alertListSchema }) query: AlertList) {
    return this.alerts.list(query);
  }
}
