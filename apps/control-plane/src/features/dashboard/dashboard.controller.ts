import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Permission } from '../../platform/access/permission.ts';
import { DashboardService } from './dashboard.service.ts';

@ApiTags('dashboard')
@Controller('admin/dashboard')
export class DashboardController {
  constructor(private readonly dashboard: DashboardService) {}

  @Get()
  @Permission('admin')
  read() {
    return this.dashboard.read();
  }
}
