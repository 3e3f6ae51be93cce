import { Module } from '@nestjs/common';
import { ActivityModule } from '../activity/activity.module.ts';
import { KeyRevisionsModule } from '../keys/key-revisions.module.ts';
import { CeilingsController } from './ceilings.controller.ts';
import { CeilingsService } from './ceilings.service.ts';

@Module({
  imports: [ActivityModule, KeyRevisionsModule],
  controllers: [CeilingsController],
  providers: [CeilingsService],
  exports: [CeilingsService],
})
export class CeilingsModule {}
