import { Global, Module } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { AccessGuard } from './access-guard.ts';
import { AccessTokens } from './access-tokens.ts';
import { AccountScope } from './account-scope.ts';
import { AccountTurns } from './account-turns.ts';
import { Passwords } from './passwords.ts';
import { QueryGuard } from './query-guard.ts';
import { SessionToken } from './session-token.ts';
import { Sessions } from './sessions.ts';
import { Standing } from './standing.ts';

@Global()
@Module({
  providers: [
    SessionToken,
    Sessions,
    AccessTokens,
    AccountScope,
    Standing,
    { provide: Passwords, useFactory: () => new Passwords() },
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: APP_GUARD, useClass: QueryGuard },
    { provide: APP_INTERCEPTOR, useClass: AccountTurns },
  ],
  exports: [Sessions, AccessTokens, AccountScope, Passwords, Standing],
})
export class AccessModule {}
