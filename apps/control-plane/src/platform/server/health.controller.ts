import { Controller, Get, HttpCode } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { Permission } from '../access/permission.ts';
import { Answers } from '../openapi/answers.ts';
import { Refusal } from '../http/refusal.ts';

@ApiTags('health')
@Controller()
export class HealthController {
  constructor(private readonly dataSource: DataSource) {}

  @Get('healthz')
  @Permission('public')
  @Answers('The process is alive', z.object({ status: z.literal('ok') }))
  @HttpCode(200)
  alive() {
    return { status: 'ok' as const };
  }

  /** The process is ready while PostgreSQL can be read. Redis may be down: reading and changing data in PostgreSQL still works. */
  @Get('readyz')
  @Permission('public')
  @Answers('PostgreSQL can be read', z.object({ status: z.literal('ready') }))
  async ready() {
    await this.dataSource.query('SELECT 1').catch(() => {
      throw new Refusal('service_unavailable', { retryAfterSeconds: 5 });
    });
    return { status: 'ready' as const };
  }
}
