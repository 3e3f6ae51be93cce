import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Permission } from '../../platform/access/permission.ts';
import { alertListSchema, type AlertList } from './alerts.dto.ts';
import { AlertsService } from './alerts.service.ts';

@ApiTags('alerts')
@Controller('admin/alerts')
export class AlertsController {
  constructor(private readonly alerts: AlertsService) {}

  @Get()
  @Permission('admin')
  list(@Query({ schema: alertListSchema }) query: AlertList) {
    return this.alerts.list(query);
  }
}
