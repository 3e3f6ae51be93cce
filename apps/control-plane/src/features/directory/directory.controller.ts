import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Permission } from '../../platform/access/permission.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { pageOf } from '../../platform/http/list-query.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { directoryQuery, listedUserSchema, type DirectoryQuery } from './directory.dto.ts';
import { DirectoryService } from './directory.service.ts';

@ApiTags('users')
@Controller('users')
export class DirectoryController {
  constructor(private readonly directory: DirectoryService) {}

  @Get()
  @Permission('admin')
  @Answers('List accounts with what they have and use', pageOf(listedUserSchema))
  list(@Query({ schema: directoryQuery }) query: DirectoryQuery) {
    return this.directory.list(query);
  }

  @Get(':id')
  @Permission('admin')
  @Answers('One account with what it has and uses', listedUserSchema)
  get(@IdPath() id: number) {
    return this.directory.get(id);
  }
}
