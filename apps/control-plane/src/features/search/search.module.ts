import { Module } from '@nestjs/common';
import { IncidentsModule } from '../incidents/incidents.module.ts';
import { UsageModule } from '../usage/usage.module.ts';
import { SearchController } from './search.controller.ts';
import { SearchService } from './search.service.ts';

@Module({
  imports: [IncidentsModule, UsageModule],
  controllers: [SearchController],
  providers: [SearchService],
})
export class SearchModule {}
