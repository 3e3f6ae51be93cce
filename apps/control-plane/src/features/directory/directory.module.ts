import { Module } from '@nestjs/common';
import { UsersModule } from '../users/users.module.ts';
import { DirectoryController } from './directory.controller.ts';
import { DirectoryService } from './directory.service.ts';

@Module({
  imports: [UsersModule],
  controllers: [DirectoryController],
  providers: [DirectoryService],
})
export class DirectoryModule {}
