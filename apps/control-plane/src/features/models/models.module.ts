import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { SnapshotsModule } from '../snapshots/snapshots.module.ts';
import { ModelRow } from './model.entity.ts';
import { ModelFamiliesRow } from './model-families.entity.ts';
import { ModelFamiliesService } from './model-families.service.ts';
import { ModelsService } from './models.service.ts';
import { PriceVersionRow } from './price-version.entity.ts';
import { PricesInForce } from './prices-in-force.service.ts';
import { PricingService } from './pricing.service.ts';

/** `SubscriptionsModule` registers the controller, after the routes of subscriptions below `/models`. */
@Module({
  imports: [
    TypeOrmModule.forFeature([ModelRow, PriceVersionRow, ModelFamiliesRow]),
    SnapshotsModule,
    ActivityModule,
    AlertsModule,
  ],
  providers: [ModelsService, PricingService, PricesInForce, ModelFamiliesService],
  exports: [ModelsService, PricingService, PricesInForce, ModelFamiliesService],
})
export class ModelsModule {}
