import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { CeilingsModule } from '../ceilings/ceilings.module.ts';
import { LiveStateModule } from '../live-state/live-state.module.ts';
import { UsageModule } from '../usage/usage.module.ts';
import { ApiKeyRow } from './api-key.entity.ts';
import { KeyOwners } from './key-owners.ts';
import { KeyWindowsService } from './key-windows.service.ts';
import { KeysController } from './keys.controller.ts';
import { KeysService } from './keys.service.ts';
import { ListedKeys } from './listed-keys.service.ts';
import { TemporaryKeysService } from './temporary-keys.service.ts';

@Module({
  imports: [
    TypeOrmModule.forFeature([ApiKeyRow]),
    LiveStateModule,
    ActivityModule,
    CeilingsModule,
    UsageModule,
  ],
  controllers: [KeysController],
  providers: [KeysService, KeyOwners, ListedKeys, KeyWindowsService, TemporaryKeysService],
  exports: [KeysService, KeyOwners, TemporaryKeysService],
})
export class KeysModule {}
