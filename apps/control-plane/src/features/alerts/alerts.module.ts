import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AlertWebhook } from './alert-webhook.ts';
import { Alert } from './alert.entity.ts';
import { AlertsController } from './alerts.controller.ts';
import { AlertsService } from './alerts.service.ts';
import { ListedAlertsService } from './listed-alerts.service.ts';
import { TamperWatch } from './tamper-watch.ts';

@Module({
  imports: [TypeOrmModule.forFeature([Alert])],
  controllers: [AlertsController],
  providers: [AlertsService, ListedAlertsService, AlertWebhook, TamperWatch],
  exports: [AlertsService, ListedAlertsService],
})
export class AlertsModule {}
