import { Module } from '@nestjs/common';
import { ActivityModule } from '../activity/activity.module.ts';
import { AuthModule } from '../auth/auth.module.ts';
import { KeysModule } from '../keys/keys.module.ts';
import { ProxyNodesModule } from '../proxy-nodes/proxy-nodes.module.ts';
import { UpstreamsModule } from '../upstreams/upstreams.module.ts';
import { UsersModule } from '../users/users.module.ts';
import { MadeByTokensController } from './made-by-tokens.controller.ts';
import { MadeByTokens } from './made-by-tokens.service.ts';
import { MadeRecords } from './made-records.ts';

@Module({
  imports: [ActivityModule, AuthModule, KeysModule, ProxyNodesModule, UpstreamsModule, UsersModule],
  controllers: [MadeByTokensController],
  providers: [MadeByTokens, MadeRecords],
})
export class MadeByTokensModule {}
