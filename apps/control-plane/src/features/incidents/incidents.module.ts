import { Module } from '@nestjs/common';
import { ActivityModule } from '../activity/activity.module.ts';
import { KeysModule } from '../keys/keys.module.ts';
import { ProxyNodesModule } from '../proxy-nodes/proxy-nodes.module.ts';
import { IncidentIntake } from './incident-intake.ts';
import { IncidentsController } from './incidents.controller.ts';
import { IncidentsService } from './incidents.service.ts';
import { IncidentStore } from './incidents.sql.ts';
import { IncidentReader } from './read-incidents.sql.ts';
import { RunningController } from './running.controller.ts';
import { RunningService } from './running.service.ts';

@Module({
  imports: [ActivityModule, KeysModule, ProxyNodesModule],
  controllers: [IncidentsController, RunningController],
  providers: [IncidentIntake, IncidentStore, IncidentReader, IncidentsService, RunningService],
  exports: [IncidentsService],
})
export class IncidentsModule {}
