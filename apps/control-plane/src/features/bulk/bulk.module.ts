import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/keys.module.ts';
import { ModelsModule } from '../models/models.module.ts';
import { RoutingModule } from '../routing/routing.module.ts';
import { UpstreamsModule } from '../upstreams/upstreams.module.ts';
import { UsersModule } from '../users/users.module.ts';
import { BulkModels } from './bulk-models.service.ts';
import { BulkRecords } from './bulk-records.service.ts';
import { BulkController } from './bulk.controller.ts';

@Module({
  imports: [UsersModule, KeysModule, ModelsModule, UpstreamsModule, RoutingModule],
  controllers: [BulkController],
  providers: [BulkRecords, BulkModels],
})
export class BulkModule {}
