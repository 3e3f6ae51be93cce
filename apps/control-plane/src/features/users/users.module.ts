import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { LiveStateModule } from '../live-state/live-state.module.ts';
import { AccountIssuing } from './account-issuing.service.ts';
import { AccountsService } from './accounts.service.ts';
import { User } from './user.entity.ts';
import { UsersController } from './users.controller.ts';
import { UsersService } from './users.service.ts';

@Module({
  imports: [TypeOrmModule.forFeature([User]), ActivityModule, LiveStateModule],
  controllers: [UsersController],
  providers: [UsersService, AccountsService, AccountIssuing],
  exports: [AccountsService, UsersService],
})
export class UsersModule {}
