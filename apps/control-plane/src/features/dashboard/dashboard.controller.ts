import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { dashboardSchema } from './dashboard-answer.ts';
import { DashboardService } from './dashboard.service.ts';

@ApiTags('dashboard')
@Controller('admin/dashboard')
export class DashboardController {
  constructor(private readonly dashboard: DashboardService) {}

  @Get()
  @Permission('admin')
  @Answers('The installation at a glance', dashboardSchema)
  read() {
    return this.dashboard.read();
  }
}
