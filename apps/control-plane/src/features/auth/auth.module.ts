import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { LiveStateModule } from '../live-state/live-state.module.ts';
import { UsersModule } from '../users/users.module.ts';
import { AccessTokenRow } from './access-token.entity.ts';
import { AccessTokensController } from './access-tokens.controller.ts';
import { AccessTokensService } from './access-tokens.service.ts';
import { Attempts } from './attempts.sql.ts';
import { AuthController } from './auth.controller.ts';
import { AuthService } from './auth.service.ts';
import { CookieSessions } from './cookie-sessions.ts';
import { FirstAdministrator } from './first-administrator.ts';
import { SessionRow } from './session.entity.ts';
import { SessionsController } from './sessions.controller.ts';
import { SessionsService } from './sessions.service.ts';

@Module({
  imports: [
    TypeOrmModule.forFeature([SessionRow, AccessTokenRow]),
    UsersModule,
    ActivityModule,
    LiveStateModule,
  ],
  controllers: [AuthController, SessionsController, AccessTokensController],
  exports: [AccessTokensService],
  providers: [
    AuthService,
    SessionsService,
    AccessTokensService,
    Attempts,
    CookieSessions,
    FirstAdministrator,
  ],
})
export class AuthModule {}
