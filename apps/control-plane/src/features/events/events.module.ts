import { Module } from '@nestjs/common';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { ProxyNodesModule } from '../proxy-nodes/proxy-nodes.module.ts';
import { UsageModule } from '../usage/usage.module.ts';
import { EventDetails } from './event-details.ts';
import { EventFeed } from './event-feed.ts';
import { EventStore } from './event-store.sql.ts';
import { EventStreams } from './event-streams.ts';
import { EventsController } from './events.controller.ts';
import { NodeEvents } from './node-events.ts';

@Module({
  imports: [AlertsModule, ProxyNodesModule, UsageModule],
  controllers: [EventsController],
  providers: [EventStore, EventDetails, EventFeed, EventStreams, NodeEvents],
})
export class EventsModule {}
