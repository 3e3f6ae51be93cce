import { Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { HealthController } from './health.controller.ts';
import { ProblemFilter } from './problem-filter.ts';
import { ValidationPipe } from './validation.ts';

@Module({
  controllers: [HealthController],
  providers: [
    { provide: APP_FILTER, useClass: ProblemFilter },
    { provide: APP_PIPE, useClass: ValidationPipe },
  ],
})
export class HttpModule {}
