import { Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { snapshotDiffSchema, snapshotListSchema, type SnapshotDiffQuery, type SnapshotList } from './snapshots.dto.ts';
import { SnapshotsService } from './snapshots.service.ts';

/** `id` is the version. */
@ApiTags('snapshots')
@Controller('snapshots')
export class SnapshotsController {
  constructor(private readonly snapshots: SnapshotsService) {}

  @Get()
  @Permission('admin')
  list(@Query({ schema: snapshotListSchema }) query: SnapshotList) {
    return this.snapshots.list(query);
  }

  @Get(':id')
  @Permission('admin')
  get(@IdPath() version: number) {
    return this.snapshots.get(version);
  }

  @Get(':id/diff')
  @Permission('admin')
  diff(@IdPath() version: number, @Query({ schema: snapshotDiffSchema }) query: SnapshotDiffQuery) {
    return this.snapshots.diff(version, query);
  }

  @Post(':id/rollback')
  @Permission('admin')
  @HttpCode(200)
  rollback(@FromCaller() caller: Caller, @IdPath() version: number) {
    return this.snapshots.rollback(caller, version);
  }

  @Post('unpin')
  @Permission('admin')
  @HttpCode(200)
  unpin(@FromCaller() caller: Caller) {
    return this.snapshots.unpin(caller);
  }
}
