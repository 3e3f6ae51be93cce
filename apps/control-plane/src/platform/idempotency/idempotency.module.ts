import { Global, Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { Idempotency } from './idempotency.ts';
import { ReplayHeader } from './replay-header.ts';

@Global()
@Module({
  providers: [Idempotency, { provide: APP_INTERCEPTOR, useClass: ReplayHeader }],
  exports: [Idempotency],
})
export class IdempotencyModule {}
