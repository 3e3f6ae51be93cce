import { Injectable } from '@nestjs/common';
import {
  checksumOf,
  compileSnapshot,
  isOlder,
  snapshotDocumentSchema,
  type SnapshotDocument,
} from '@tollgate/snapshot';
import type { DataSource, EntityManager } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import { prepared } from '../../platform/database/prepared.ts';
import { repeatedLook } from '../../platform/database/repeated-looks.ts';
import { beforeCommit } from '../../platform/database/transactions.ts';
import { deletedCredentials } from '../activity/deleted-credentials.sql.ts';
import { withoutDeletedCredentials } from './deleted-credentials.ts';
import { readRoutingRows } from './read-routing-rows.sql.ts';

/** Older versions are deleted: a document has kilobytes to megabytes, and a rollback of a thousand changes is not expected. */
const VERSIONS_KEPT = 1000;

const version = z.string().transform(toSafeInteger);
const settingsRow = z.object({
  pinned_version: version.nullable(),
  change_seq: version,
  published_seq: version,
  installation_id: z.uuid(),
  lineage: version,
});
const standingRow = settingsRow.extend({
  version: version.nullable(),
  checksum: z.string().nullable(),
});
const SETTINGS = 'pinned_version, change_seq, published_seq, installation_id, lineage';
const SETTINGS_AND_LATEST = prepared(
  `SELECT ${SETTINGS}, version, checksum FROM fleet_settings LEFT JOIN (SELECT version, checksum FROM snapshots ORDER BY version DESC LIMIT 1) latest ON true`,
);
const headRow = z.object({ version, checksum: z.string() });

/** Describes a published version without its document. */
export interface SnapshotHead {
  version: number;
  checksum: string;
}
/** Describes the version that the fleet should run; `pinnedVersion` is set while changes wait until it is unpinned. */
export interface PublishedHead extends SnapshotHead {
  pinnedVersion: number | null;
}
export interface FleetSettings {
  pinnedVersion: number | null;
  changeSeq: number;
  publishedSeq: number;
  installation: string;
  /** Counts how often the versions began again, as after a restore. */
  lineage: number;
}

function settingsOf(row: z.output<typeof settingsRow>): FleetSettings {
  return {
    pinnedVersion: row.pinned_version,
    changeSeq: row.change_seq,
    publishedSeq: row.published_seq,
    installation: row.installation_id,
    lineage: row.lineage,
  };
}

/** Describes the version that the fleet runs, as far as a seal of this installation or a node's report proves it. */
export interface FleetStanding {
  lineage: number;
  version: number;
}

/** Stores snapshots in PostgreSQL. All methods except the repeated read run inside the caller's transaction. */
@Injectable()
export class SnapshotRepository {
  /** Notes, as the last step of `tx`, that the routing document changed. */
  noteChange(tx: EntityManager): void {
    beforeCommit(tx, async () => {
      await tx.query('UPDATE fleet_settings SET change_seq = change_seq + 1');
    });
  }

  /** Notes the protocols that every node speaks, which decide which upstreams can be published. */
  async noteSpoken(tx: EntityManager, protocols: readonly string[]): Promise<void> {
    await tx.query(
      'UPDATE fleet_settings SET spoken_protocols = $1, change_seq = change_seq + 1 WHERE spoken_protocols <> $1',
      [protocols],
    );
  }

  async settings(tx: EntityManager, { isLocked }: { isLocked: boolean }): Promise<FleetSettings> {
    const [row]: unknown[] = await tx.query(
      `SELECT ${SETTINGS} FROM fleet_settings${isLocked ? ' FOR UPDATE' : ''}`,
    );
    return settingsOf(settingsRow.parse(row));
  }

  async latest(tx: EntityManager): Promise<SnapshotHead | null> {
    const [row]: unknown[] = await tx.query(
      'SELECT version, checksum FROM snapshots ORDER BY version DESC LIMIT 1',
    );
    return row === undefined ? null : headRow.parse(row);
  }

  /** Reads settings and newest version in one statement, for a check each second by each replica: see `repeatedLook`. */
  async settingsAndLatest(
    dataSource: DataSource,
  ): Promise<{ settings: FleetSettings; latest: SnapshotHead | null }> {
    const [row] = await repeatedLook(dataSource, SETTINGS_AND_LATEST);
    const read = standingRow.parse(row);
    const { version, checksum } = read;
    return {
      settings: settingsOf(read),
      latest: version === null || checksum === null ? null : { version, checksum },
    };
  }

  async checksumOfVersion(tx: EntityManager, wanted: number): Promise<string | null> {
    const [row]: unknown[] = await tx.query(
      'SELECT version, checksum FROM snapshots WHERE version = $1',
      [wanted],
    );
    return row === undefined ? null : headRow.parse(row).checksum;
  }

  /**
   * Brings the stored snapshots up to the configuration and answers the version the fleet should run. The lock on fleet_settings makes
   * publishers take turns and waits for changes in flight, so what is compiled holds every change that `change_seq` counts.
   * `standing` is the newest that the fleet has seen. A database that is behind it was restored from a backup: it begins a new lineage, whose snapshots
   * nodes take for newer whatever their version, and give no number out twice.
   */
  async bringUpToDate(tx: EntityManager, standing: FleetStanding | null): Promise<SnapshotHead> {
    const settings = await this.settings(tx, { isLocked: true });
    const latest = await this.latest(tx);
    const isBehindFleet =
      latest !== null &&
      standing !== null &&
      isOlder({ lineage: settings.lineage, version: latest.version }, standing);
    const versionFloor = isBehindFleet ? standing.version : 0;
    if (isBehindFleet)
      await tx.query('UPDATE fleet_settings SET lineage = $1', [standing.lineage + 1]);
    if (
      latest &&
      !isBehindFleet &&
      (settings.pinnedVersion !== null || settings.changeSeq === settings.publishedSeq)
    )
      return latest;
    const document =
      settings.pinnedVersion === null
        ? snapshotDocumentSchema.parse(compileSnapshot(await readRoutingRows(tx)))
        : await this.documentOf(tx, settings.pinnedVersion);
    await tx.query('UPDATE fleet_settings SET published_seq = $1', [
      settings.pinnedVersion === null ? settings.changeSeq : settings.publishedSeq,
    ]);
    if (latest && !isBehindFleet && latest.checksum === checksumOf(document)) return latest;
    const head = await this.append(tx, {
      document,
      rollbackOf: settings.pinnedVersion,
      createdBy: null,
      versionFloor,
    });
    if (settings.pinnedVersion !== null)
      await tx.query('UPDATE fleet_settings SET pinned_version = $1', [head.version]);
    return head;
  }

  /** Publishes an old document again under a new number, without the credentials that were deleted since, and pins it. */
  async restore(
    tx: EntityManager,
    {
      document: earlier,
      madeAt,
      rollbackOf,
      createdBy,
    }: { document: SnapshotDocument; madeAt: Date; rollbackOf: number; createdBy: number },
  ): Promise<SnapshotHead> {
    await this.settings(tx, { isLocked: true });
    const rows = await readRoutingRows(tx);
    const deleted = await deletedCredentials(tx, madeAt);
    const document = withoutDeletedCredentials(earlier, rows, deleted);
    const head = await this.append(tx, { document, rollbackOf, createdBy, versionFloor: 0 });
    await tx.query('UPDATE fleet_settings SET pinned_version = $1', [head.version]);
    return head;
  }

  /** Removes the pin; the next publication compiles again. */
  async unpin(tx: EntityManager): Promise<void> {
    await tx.query('UPDATE fleet_settings SET pinned_version = NULL, change_seq = change_seq + 1');
  }

  private async documentOf(tx: EntityManager, wanted: number): Promise<SnapshotDocument> {
    const [row]: { document: unknown }[] = await tx.query(
      'SELECT document FROM snapshots WHERE version = $1',
      [wanted],
    );
    return snapshotDocumentSchema.parse(row?.document);
  }

  private async append(
    tx: EntityManager,
    snapshot: {
      document: SnapshotDocument;
      rollbackOf: number | null;
      createdBy: number | null;
      versionFloor: number;
    },
  ): Promise<SnapshotHead> {
    const checksum = checksumOf(snapshot.document);
    await tx.query(
      `SELECT setval(pg_get_serial_sequence('snapshots', 'version'), $1) FROM (SELECT max(version) AS top FROM snapshots) known WHERE coalesce(top, 0) < $1`,
      [snapshot.versionFloor],
    );
    const [row]: unknown[] = await tx.query(
      'INSERT INTO snapshots (checksum, document, rollback_of, created_by) VALUES ($1, $2, $3, $4) RETURNING version, checksum',
      [checksum, JSON.stringify(snapshot.document), snapshot.rollbackOf, snapshot.createdBy],
    );
    const head = headRow.parse(row);
    await tx.query(
      `DELETE FROM snapshots old WHERE version <= $1 AND NOT EXISTS (SELECT 1 FROM snapshots later WHERE later.rollback_of = old.version AND later.version > $1)`,
      [head.version - VERSIONS_KEPT],
    );
    return head;
  }
}
