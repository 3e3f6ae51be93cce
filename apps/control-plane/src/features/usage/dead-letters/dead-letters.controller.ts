import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../../platform/access/caller.ts';
import { Permission } from '../../../platform/access/permission.ts';
import { IdPath } from '../../../platform/http/id-path.ts';
import { pageOf } from '../../../platform/http/list-query.ts';
import { Answers } from '../../../platform/openapi/answers.ts';
import {
  bookDeadLetterSchema,
  deadLetterListSchema,
  deadLetterResponseSchema,
  dismissDeadLetterSchema,
  type BookDeadLetter,
  type DeadLetterList,
  type DismissDeadLetter,
} from './dead-letters.dto.ts';
import { DeadLettersService } from './dead-letters.service.ts';

@ApiTags('dead letters')
@Controller('admin/dead-letters')
export class DeadLettersController {
  constructor(private readonly letters: DeadLettersService) {}

  @Get()
  @Permission('admin')
  @Answers('List usage events that could not be booked', pageOf(deadLetterResponseSchema))
  list(@Query({ schema: deadLetterListSchema }) query: DeadLetterList) {
    return this.letters.list(query);
  }

  @Post(':id/book')
  @Permission('admin')
  @HttpCode(200)
  @Answers('Book a dead letter, corrected if asked for', deadLetterResponseSchema, {
    refuses: ['dead_letter_resolved', 'dead_letter_unsound'],
  })
  book(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: bookDeadLetterSchema }) body: BookDeadLetter,
  ) {
    return this.letters.book(caller, id, body);
  }

  @Post(':id/dismiss')
  @Permission('admin')
  @HttpCode(200)
  @Answers('Close a dead letter without booking it', deadLetterResponseSchema, {
    refuses: ['dead_letter_resolved'],
  })
  dismiss(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: dismissDeadLetterSchema }) body: DismissDeadLetter,
  ) {
    return this.letters.dismiss(caller, id, body);
  }
}
