import { Controller, Get, HttpCode } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Permission } from '../access/permission.ts';
import { Refusal } from './refusal.ts';

@Controller()
export class HealthController {
  constructor(private readonly dataSource: DataSource) {}

  @Get('healthz')
  @Permission('public')
  @HttpCode(200)
  alive() {
    return { status: 'ok' };
  }

  /** Ready = the books can be read. Redis may be down: reading and changing the books still works. */
  @Get('readyz')
  @Permission('public')
  async ready() {
    await this.dataSource.query('SELECT 1').catch(() => {
      throw new Refusal('service_unavailable', { retryAfterSeconds: 5 });
    });
    return { status: 'ready' };
  }
}
