import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { FleetStore } from '@tollgate/keyspace';
import { publishedSnapshotSchema, type PublishedSnapshot } from '@tollgate/snapshot';
import { DataSource } from 'typeorm';
import { BackgroundLoop } from '../../platform/background/background-loop.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { SnapshotBooks, type PublishedHead, type SnapshotHead } from './snapshot-books.ts';
import { Snapshot } from './snapshot.entity.ts';

/** Changes that come together are published together. */
const DEBOUNCE_MS = 200;
/** Finds what a killed process left unpublished, and a Redis that lost or never got the newest version. */
const SWEEP_MS = 1_000;
const RETRY_MS = 200;
const FAILURE = { rule: 'publication_failed', subject: 'fleet' } as const;

/**
 * Brings changes of the books to the fleet: PostgreSQL first, then Redis, then the channel. Any replica may do it at any time;
 * the lock on fleet_settings orders them, and an unchanged checksum publishes nothing.
 */
@Injectable()
export class SnapshotPublisher implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('snapshots');
  private readonly loop = new BackgroundLoop({
    everyMs: SWEEP_MS,
    retryMs: RETRY_MS,
    work: () => this.sweep(),
    onFailing: async (error) => {
      this.logger.error(error, 'configuration cannot be published; trying again');
      await this.alerts.raise(this.dataSource.manager, {
        ...FAILURE,
        message: 'Configuration changes cannot be published; nodes keep the last good version',
      });
    },
    onWorking: () => this.alerts.resolve(this.dataSource.manager, FAILURE),
  });

  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly books: SnapshotBooks,
    private readonly fleet: FleetStore,
    private readonly alerts: AlertsService,
  ) {}

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** Publishes soon. Call it after the commit of a change. */
  schedule(): void {
    this.loop.wakeWithin(DEBOUNCE_MS);
  }

  /** Publishes what is not published yet, and answers what the fleet should run: in Redis when this returns. */
  async publish(): Promise<PublishedHead> {
    const versionFloor = (await this.fleet.currentVersion()) ?? 0;
    const head = await this.transactions.run(async (tx) => {
      const upToDate = await this.books.bringUpToDate(tx, versionFloor);
      return {
        ...upToDate,
        pinnedVersion: (await this.books.settings(tx, { isLocked: false })).pinnedVersion,
      };
    });
    await this.deliver(head);
    return head;
  }

  /** Puts a stored version into Redis unless it is there. */
  async deliver(head: SnapshotHead): Promise<void> {
    const current = await this.fleet.currentVersion();
    if (current !== null && current >= head.version) return;
    await this.fleet.publish(await this.published(head.version));
    this.logger.log(`version ${head.version} is published`);
  }

  private async sweep(): Promise<void> {
    const settings = await this.books.settings(this.dataSource.manager, { isLocked: false });
    const latest = await this.books.latest(this.dataSource.manager);
    const isUnpublished =
      settings.pinnedVersion === null && settings.changeSeq !== settings.publishedSeq;
    if (latest === null || isUnpublished || (await this.fleet.currentVersion()) !== latest.version)
      await this.publish();
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
