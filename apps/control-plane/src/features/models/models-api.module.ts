import { Module } from '@nestjs/common';
import { SubscriptionsController } from '../subscriptions/subscriptions.controller.ts';
import { SubscriptionsModule } from '../subscriptions/subscriptions.module.ts';
import { ModelsController } from './models.controller.ts';
import { ModelsModule } from './models.module.ts';

/** All routes below /models. The order counts: `models/my` must be known before `models/:id` could take it. */
@Module({
  imports: [ModelsModule, SubscriptionsModule],
  controllers: [SubscriptionsController, ModelsController],
})
export class ModelsApiModule {}
