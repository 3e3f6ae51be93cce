import { Global, Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { JwtModule } from '@nestjs/jwt';
import { AccessGuard } from './access-guard.ts';
import { AccountScope } from './account-scope.ts';
import { QueryGuard } from './query-guard.ts';
import { RouteTable } from './route-table.ts';
import { Sessions } from './sessions.ts';

@Global()
@Module({
  imports: [JwtModule.register({}), DiscoveryModule],
  providers: [
    Sessions,
    AccountScope,
    RouteTable,
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: APP_GUARD, useClass: QueryGuard },
  ],
  exports: [Sessions, AccountScope, RouteTable],
})
export class AccessModule {}
