import { Module } from '@nestjs/common';
import { ActivityModule } from '../activity/activity.module.ts';
import { ReconciliationModule } from '../reconciliation/reconciliation.module.ts';
import { BooksAudit } from './books-audit.service.ts';
import { BooksController } from './books.controller.ts';
import { BooksService } from './books.service.ts';

@Module({
  imports: [ActivityModule, ReconciliationModule],
  controllers: [BooksController],
  providers: [BooksService, BooksAudit],
})
export class BooksModule {}
