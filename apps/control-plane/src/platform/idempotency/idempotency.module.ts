import { Global, Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { Idempotency } from './idempotency.ts';
import { AnswerHeaders } from './answer-headers.ts';

@Global()
@Module({
  providers: [Idempotency, { provide: APP_INTERCEPTOR, useClass: AnswerHeaders }],
  exports: [Idempotency],
})
export class IdempotencyModule {}
