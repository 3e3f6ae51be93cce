import { Inject, Injectable } from '@nestjs/common';
import type { ControlPlaneMac } from '@tollgate/contracts';
import { FleetStore } from '@tollgate/keyspace';
import {
  isOlder,
  isSealGenuine,
  publishedSnapshotSchema,
  sealSnapshot,
  type PublishedSnapshot,
  type SnapshotSeal,
} from '@tollgate/snapshot';
import { DataSource } from 'typeorm';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { CONTROL_PLANE_MAC } from '../../platform/secrets/secrets.module.ts';
import type { AlertDetail } from '../alerts/alert-rules.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import {
  SnapshotRepository,
  type FleetSettings,
  type FleetStanding,
  type PublishedHead,
  type SnapshotHead,
} from './snapshot-repository.sql.ts';
import { Snapshot } from './snapshot.entity.ts';

/** Changes within this time are published together. */
const DEBOUNCE_MS = 200;
/** The sweep finds changes that a killed process left unpublished, and a Redis that lost or never got the newest version. */
const SWEEP_MS = 1_000;
const RETRY_MS = 200;
/** The document itself is read and verified at most this often, because it may be megabytes. */
const DOCUMENT_CHECK_MS = 5_000;
const FORGERY = { rule: 'redis_tampered', subject: 'snapshot' } as const;
const FAILURE = { rule: 'publication_failed', subject: 'fleet' } as const;

/**
 * Publishes configuration changes to the fleet: PostgreSQL first, then Redis, then the channel. Any replica may do it at any time; the lock on
 * fleet_settings orders them, and an unchanged checksum publishes nothing.
 */
@Injectable()
export class SnapshotPublisher extends BackgroundService {
  /** Is the newest version that a node has proven to run. */
  private reported: FleetStanding | null = null;
  /** Lists the protocols that this process last stored as spoken. */
  private spoken: string | null = null;
  private documentCheckedAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly repository: SnapshotRepository,
    private readonly fleet: FleetStore,
    private readonly alerts: AlertsService,
    @Inject(CONTROL_PLANE_MAC) private readonly mac: ControlPlaneMac,
  ) {
    super({
      name: 'snapshots',
      everyMs: SWEEP_MS,
      retryMs: RETRY_MS,
      failing: 'configuration cannot be published; trying again',
    });
  }

  protected override async onFailing(error: unknown): Promise<void> {
    this.logger.error(error, 'configuration cannot be published; trying again');
    await this.alerts.raise(this.dataSource.manager, {
      ...FAILURE,
      message: 'Configuration changes cannot be published; nodes keep the last good version',
    });
  }

  protected override async onWorking(): Promise<void> {
    await this.alerts.resolve(this.dataSource.manager, FAILURE);
  }

  /** Publishes soon. Call it after the commit of a change. */
  schedule(): void {
    this.loop.wakeWithin(DEBOUNCE_MS);
  }

  /** Notes a version that a node has proven to run. */
  noteRun(standing: FleetStanding): void {
    if (this.reported === null || isOlder(this.reported, standing)) this.reported = standing;
  }

  /** Notes the protocols that all nodes speak by their reports. */
  async noteSpoken(protocols: readonly string[]): Promise<void> {
    if (this.spoken === protocols.join()) return;
    await this.transactions.run(async (tx) => this.repository.noteSpoken(tx, protocols));
    this.spoken = protocols.join();
    this.schedule();
  }

  /** Publishes pending changes and returns the version that the fleet should run. Redis has that version when this returns. */
  async publish(): Promise<PublishedHead> {
    const before = await this.repository.settings(this.dataSource.manager, { isLocked: false });
    const standing = newest(await this.standingInRedis(before), this.reported);
    const head = await this.transactions.run(async (tx) => {
      const upToDate = await this.repository.bringUpToDate(tx, standing);
      return {
        ...upToDate,
        pinnedVersion: (await this.repository.settings(tx, { isLocked: false })).pinnedVersion,
      };
    });
    await this.deliver(head);
    return head;
  }

  /** Writes a stored version to Redis unless Redis has it or a newer one of another replica. It overwrites versions of other origin. */
  async deliver(head: SnapshotHead): Promise<void> {
    const settings = await this.repository.settings(this.dataSource.manager, { isLocked: false });
    const standing = await this.standingInRedis(settings);
    const next = { lineage: settings.lineage, version: head.version };
    if (standing !== null && !isOlder(standing, next)) {
      const isNewer = isOlder(next, standing);
      if (isNewer || (await this.isDocumentWhole(head))) return;
    }
    const current = await this.fleet.currentVersion();
    const { installation, lineage } = settings;
    const { version, checksum } = head;
    await this.fleet.publish(
      await this.published(version),
      sealSnapshot(this.mac, { installation, lineage, version, checksum }),
      { isForced: current !== null && current > version },
    );
    this.logger.log(`version ${version} is published`);
  }

  protected async runOnce(): Promise<void> {
    const { settings, latest } = await this.repository.settingsAndLatest(this.dataSource);
    const isUnpublished =
      settings.pinnedVersion === null && settings.changeSeq !== settings.publishedSeq;
    if (latest === null || isUnpublished || !(await this.isDelivered(latest, settings)))
      await this.publish();
  }

  private async isDelivered(latest: SnapshotHead, settings: FleetSettings): Promise<boolean> {
    const ours = { lineage: settings.lineage, version: latest.version };
    if (this.reported !== null && isOlder(ours, this.reported)) return false;
    const standing = await this.standingInRedis(settings);
    if (standing === null || isOlder(standing, ours) || isOlder(ours, standing)) {
      await this.tellOfForgery(standing);
      return false;
    }
    if (performance.now() - this.documentCheckedAtMs < DOCUMENT_CHECK_MS) return true;
    this.documentCheckedAtMs = performance.now();
    if (await this.isDocumentWhole(latest)) {
      if (await this.alerts.hasOpen(FORGERY.rule))
        await this.alerts.resolve(this.dataSource.manager, FORGERY);
      return true;
    }
    await this.tell(`The snapshot of version ${latest.version} in Redis was altered`, {
      kind: 'snapshot',
      version: latest.version,
    });
    return false;
  }

  /** Returns what Redis says is current, if the control plane of this installation has sealed it; null for anything else. */
  private async standingInRedis(settings: FleetSettings): Promise<FleetStanding | null> {
    const version = await this.fleet.currentVersion();
    const seal = version === null ? null : await this.fleet.fetchSeal(version);
    return seal !== null && seal.version === version && this.isOurs(seal, settings) ? seal : null;
  }

  private isOurs(seal: SnapshotSeal, { installation }: FleetSettings): boolean {
    return seal.installation === installation && isSealGenuine(this.mac, seal);
  }

  private async tellOfForgery(standing: FleetStanding | null): Promise<void> {
    if (standing !== null) return;
    const version = await this.fleet.currentVersion();
    if (version !== null)
      await this.tell(`The seal of snapshot ${version} in Redis is missing or forged`, {
        kind: 'seal',
        version,
      });
    if (version === null && (await this.fleet.isCurrentUnreadable()))
      await this.tell('What Redis has as the current version of the snapshot is no version', {
        kind: 'version',
      });
  }

  private async tell(message: string, detail: AlertDetail<'redis_tampered'>): Promise<void> {
    this.documentCheckedAtMs = performance.now();
    await this.alerts.raise(this.dataSource.manager, {
      ...FORGERY,
      message: `${message}; it is rewritten from PostgreSQL`,
      detail,
    });
  }

  private async isDocumentWhole({ version, checksum }: SnapshotHead): Promise<boolean> {
    const verdict = await this.fleet.fetchSnapshot(version);
    return verdict?.kind === 'ok' && verdict.snapshot.checksum === checksum;
  }

  private async published(version: number): Promise<PublishedSnapshot> {
    const row = await this.dataSource.getRepository(Snapshot).findOneByOrFail({ id: version });
    return publishedSnapshotSchema.parse({
      version: row.id,
      checksum: row.checksum,
      published_at: row.createdAt.getTime(),
      document: row.document,
    });
  }
}

function newest(one: FleetStanding | null, other: FleetStanding | null): FleetStanding | null {
  if (one === null || other === null) return one ?? other;
  return isOlder(one, other) ? other : one;
}
