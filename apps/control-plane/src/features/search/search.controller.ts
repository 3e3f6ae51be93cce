import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { searchQuery, searchResultsSchema, type SearchQuery } from './search.dto.ts';
import { SearchService } from './search.service.ts';

@ApiTags('search')
@Controller('search')
export class SearchController {
  constructor(private readonly searching: SearchService) {}

  @Get()
  @Permission('user')
  @Answers(
    'Find users, models, keys, upstreams, nodes and requests by name or id',
    searchResultsSchema,
  )
  search(@FromCaller() caller: Caller, @Query({ schema: searchQuery }) { q }: SearchQuery) {
    return this.searching.search(caller, q);
  }
}
