import { Module } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { ValidationPipe } from '../http/validation.ts';
import { AnswerHeaders } from './answer-headers.ts';
import { HealthController } from './health.controller.ts';
import { ProblemFilter } from './problem-filter.ts';

@Module({
  controllers: [HealthController],
  providers: [
    { provide: APP_FILTER, useClass: ProblemFilter },
    { provide: APP_PIPE, useClass: ValidationPipe },
    { provide: APP_INTERCEPTOR, useClass: AnswerHeaders },
  ],
})
export class ServerModule {}
