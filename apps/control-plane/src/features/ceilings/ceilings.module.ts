import { Module } from '@nestjs/common';
import { ActivityModule } from '../activity/activity.module.ts';
import { LiveStateModule } from '../live-state/live-state.module.ts';
import { CeilingsController } from './ceilings.controller.ts';
import { CeilingsService } from './ceilings.service.ts';

@Module({
  imports: [ActivityModule, LiveStateModule],
  controllers: [CeilingsController],
  providers: [CeilingsService],
  exports: [CeilingsService],
})
export class CeilingsModule {}
