import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { booksSchema } from './books.dto.ts';
import { BooksService } from './books.service.ts';

@ApiTags('books')
@Controller('admin/books')
export class BooksController {
  constructor(private readonly books: BooksService) {}

  @Get()
  @Permission('admin')
  @Answers('Each equality between ledgers and balances, and when it was last proven', booksSchema)
  read() {
    return this.books.read();
  }

  @Post('run')
  @Permission('admin')
  @Answers('Start an audit of ledgers and balances, unless one runs', booksSchema)
  @HttpCode(200)
  run(@FromCaller() caller: Caller) {
    return this.books.run(caller);
  }
}
