import { Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { pageOf } from '../../platform/http/list-query.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import {
  rollbackResponseSchema,
  snapshotDetailSchema,
  snapshotDiffResponseSchema,
  snapshotDiffSchema,
  snapshotListSchema,
  snapshotResponseSchema,
  unpinResponseSchema,
  type SnapshotDiffQuery,
  type SnapshotList,
} from './snapshots.dto.ts';
import { SnapshotsService } from './snapshots.service.ts';

/** The `id` in paths is the version of a snapshot. */
@ApiTags('snapshots')
@Controller('snapshots')
export class SnapshotsController {
  constructor(private readonly snapshots: SnapshotsService) {}

  @Get()
  @Permission('admin')
  @Answers('List published versions', pageOf(snapshotResponseSchema))
  list(@Query({ schema: snapshotListSchema }) query: SnapshotList) {
    return this.snapshots.list(query);
  }

  @Get(':id')
  @Permission('admin')
  @Answers('One version with its document, without secrets', snapshotDetailSchema, {
    refuses: ['snapshot_unreadable'],
  })
  get(@IdPath() version: number) {
    return this.snapshots.get(version);
  }

  @Get(':id/diff')
  @Permission('admin')
  @Answers(
    'What changed from this version to another, the newest by default',
    snapshotDiffResponseSchema,
    { refuses: ['snapshot_unreadable'] },
  )
  diff(@IdPath() version: number, @Query({ schema: snapshotDiffSchema }) query: SnapshotDiffQuery) {
    return this.snapshots.diff(version, query);
  }

  @Post(':id/rollback')
  @Permission('admin')
  @Answers('Publish an old version again and pin it', rollbackResponseSchema, {
    refuses: ['snapshot_unreadable'],
  })
  @HttpCode(200)
  rollback(@FromCaller() caller: Caller, @IdPath() version: number) {
    return this.snapshots.rollback(caller, version);
  }

  @Post('unpin')
  @Permission('admin')
  @Answers('Publish the current configuration', unpinResponseSchema)
  @HttpCode(200)
  unpin(@FromCaller() caller: Caller) {
    return this.snapshots.unpin(caller);
  }
}
