import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import {
  diffSnapshots,
  snapshotDocumentSchema,
  type SnapshotDiff,
  type SnapshotDocument,
} from '@tollgate/snapshot';
import { Repository, type EntityManager } from 'typeorm';
import type { Caller } from '../../platform/access/caller.ts';
import { afterCommit, Transactions } from '../../platform/database/transactions.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { SnapshotRepository, type FleetSettings } from './snapshot-repository.sql.ts';
import { SnapshotPublisher } from './snapshot-publisher.ts';
import { Snapshot } from './snapshot.entity.ts';
import type {
  SnapshotDetail,
  SnapshotDiffQuery,
  SnapshotList,
  SnapshotResponse,
} from './snapshots.dto.ts';

const PIN_ALERT = { rule: 'snapshot_pinned', subject: 'fleet' } as const;

@Injectable()
export class SnapshotsService {
  constructor(
    @InjectRepository(Snapshot) private readonly snapshots: Repository<Snapshot>,
    private readonly transactions: Transactions,
    private readonly repository: SnapshotRepository,
    private readonly publisher: SnapshotPublisher,
    private readonly alerts: AlertsService,
    private readonly activity: ActivityService,
  ) {}

  /** Notes a change of models, prices, upstreams or routes: it will be published even if this process dies directly after the commit. */
  changed(tx: EntityManager): void {
    this.repository.noteChange(tx);
    afterCommit(tx, async () => this.publisher.schedule());
  }

  async list(query: SnapshotList): Promise<Page<SnapshotResponse>> {
    const settings = await this.repository.settings(this.snapshots.manager, { isLocked: false });
    // The documents are omitted, because each may have megabytes.
    const builder = this.snapshots
      .createQueryBuilder('snapshot')
      .select([
        'snapshot.id',
        'snapshot.checksum',
        'snapshot.rollbackOf',
        'snapshot.createdBy',
        'snapshot.createdAt',
      ]);
    return readPage(builder, query, {
      columns: { version: 'snapshot.id' },
      map: (row) => toSnapshotResponse(row, settings),
    });
  }

  async get(version: number): Promise<SnapshotDetail> {
    const settings = await this.repository.settings(this.snapshots.manager, { isLocked: false });
    const row = await this.find(this.snapshots.manager, version);
    return { ...toSnapshotResponse(row, settings), document: withoutSecrets(documentOf(row)) };
  }

  async diff(
    version: number,
    query: SnapshotDiffQuery,
  ): Promise<{ from: number; to: number } & SnapshotDiff> {
    const source = await this.find(this.snapshots.manager, version);
    const target =
      query.to === undefined
        ? await this.newest()
        : await this.find(this.snapshots.manager, query.to);
    return {
      from: source.id,
      to: target.id,
      ...diffSnapshots(documentOf(source), documentOf(target)),
    };
  }

  /** Restores models, routes and upstreams of an old version under a new one; later changes wait until `unpin`. Keys, accounts and balances do not change. */
  async rollback(caller: Caller, version: number) {
    const head = await this.transactions.run(async (tx) => {
      const row = await this.find(tx, version);
      const restored = await this.repository.restore(tx, {
        document: documentOf(row),
        madeAt: row.createdAt,
        rollbackOf: version,
        createdBy: caller.userId,
      });
      await this.alerts.raise(tx, {
        ...PIN_ALERT,
        message: `Publication is pinned to version ${restored.version} (a rollback to ${version}); changes wait until POST /snapshots/unpin`,
        detail: { version: restored.version, rollback_of: version },
      });
      this.activity.record(tx, caller, {
        action: 'snapshot.rollback',
        target: { kind: 'snapshot', id: restored.version },
        after: { rollback_of: version },
      });
      return restored;
    });
    await this.publisher.deliver(head);
    return {
      version: head.version,
      checksum: head.checksum,
      rollback_of: version,
      pinned: true as const,
    };
  }

  /** Publishes the current configuration. Without a pin it changes nothing. */
  async unpin(caller: Caller) {
    await this.transactions.run(async (tx) => {
      const { pinnedVersion } = await this.repository.settings(tx, { isLocked: true });
      if (pinnedVersion === null) return;
      await this.repository.unpin(tx);
      await this.alerts.resolve(tx, PIN_ALERT);
      this.activity.record(tx, caller, {
        action: 'snapshot.unpin',
        target: { kind: 'snapshot', id: pinnedVersion },
      });
    });
    const head = await this.publisher.publish();
    return { version: head.version, checksum: head.checksum, pinned: false as const };
  }

  private async find(tx: EntityManager, version: number): Promise<Snapshot> {
    const row = await tx.getRepository(Snapshot).findOneBy({ id: version });
    if (!row) throw new Refusal('not_found');
    return row;
  }

  private async newest(): Promise<Snapshot> {
    const [row] = await this.snapshots.find({ order: { id: 'DESC' }, take: 1 });
    if (!row) throw new Refusal('not_found');
    return row;
  }
}

function toSnapshotResponse(row: Snapshot, settings: FleetSettings): SnapshotResponse {
  return {
    version: row.id,
    checksum: row.checksum,
    rollback_of: row.rollbackOf,
    pinned: row.id === settings.pinnedVersion,
    created_by: row.createdBy,
    created_at: row.createdAt.toISOString(),
  };
}

/** A document of an older release may have a format this one no longer reads. */
function documentOf(row: Snapshot): SnapshotDocument {
  const parsed = snapshotDocumentSchema.safeParse(row.document);
  if (!parsed.success) throw new Refusal('snapshot_unreadable');
  return parsed.data;
}

function withoutSecrets(document: SnapshotDocument) {
  return {
    ...document,
    upstreams: document.upstreams.map(({ sealed_api_key: sealed, credentials, ...upstream }) => ({
      ...upstream,
      has_api_key: sealed !== null,
      ...(credentials && {
        credentials: credentials.map(({ id, weight, rpm, tpm }) => ({ id, weight, rpm, tpm })),
      }),
    })),
  };
}
