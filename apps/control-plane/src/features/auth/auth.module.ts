import { Module } from '@nestjs/common';
import { ActivityModule } from '../activity/activity.module.ts';
import { LiveStateModule } from '../live-state/live-state.module.ts';
import { UsersModule } from '../users/users.module.ts';
import { Attempts } from './attempts.ts';
import { AuthController } from './auth.controller.ts';
import { AuthService } from './auth.service.ts';
import { CookieSessions } from './cookie-sessions.ts';
import { FirstAdministrator } from './first-administrator.ts';
import { Passwords } from './passwords.ts';

@Module({
  imports: [UsersModule, ActivityModule, LiveStateModule],
  controllers: [AuthController],
  providers: [AuthService, Attempts, Passwords, CookieSessions, FirstAdministrator],
  exports: [Passwords],
})
export class AuthModule {}
