import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { EntityManager, Repository } from 'typeorm';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { SnapshotsService } from '../snapshots/snapshots.service.ts';
import { ModelFamiliesRow } from './model-families.entity.ts';
import {
  familyOf,
  shippedFamilies,
  type ModelFamily,
  type ModelFamilyTable,
} from '../snapshots/model-families.ts';
import type { ModelFamiliesResponse } from './models.dto.ts';

const ROW_ID = 1;

/** Serves known facts of common models by name, so that an administrator types none of them. */
@Injectable()
export class ModelFamiliesService {
  constructor(
    @InjectRepository(ModelFamiliesRow) private readonly imports: Repository<ModelFamiliesRow>,
    private readonly transactions: Transactions,
    private readonly activity: ActivityService,
    private readonly snapshots: SnapshotsService,
  ) {}

  async table(): Promise<ModelFamiliesResponse> {
    return toResponse(await this.imports.findOneBy({ id: ROW_ID }));
  }

  /** Replaces the whole table. Existing models keep their values; the limit field of routes follows the table. */
  import(caller: Caller, document: ModelFamilyTable): Promise<ModelFamiliesResponse> {
    return this.transactions.run(async (tx) => {
      const row = { id: ROW_ID, document, importedAt: new Date() } as const;
      await tx.getRepository(ModelFamiliesRow).save(row);
      this.snapshots.changed(tx);
      const { source, date, families } = document;
      this.activity.record(tx, caller, {
        action: 'model.families',
        target: { kind: 'model', id: null },
        after: { source, date, families: families.length },
      });
      return toResponse(row);
    });
  }

  async of(tx: EntityManager, name: string): Promise<ModelFamily | null> {
    const row = await tx.getRepository(ModelFamiliesRow).findOneBy({ id: ROW_ID });
    return familyOf(row?.document ?? shippedFamilies(), name);
  }
}

function toResponse(
  row: Pick<ModelFamiliesRow, 'document' | 'importedAt'> | null,
): ModelFamiliesResponse {
  return {
    ...(row?.document ?? shippedFamilies()),
    imported_at: row?.importedAt.toISOString() ?? null,
  };
}
