import { Inject, Injectable, Optional } from '@nestjs/common';
import { Epochs, shardNames } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { ifUnlocked } from '../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCK_FAMILIES } from '../../platform/database/advisory-locks.ts';
import { CONFIG, type Config } from '../../config.ts';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { Host } from '../../platform/host/host.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { hasOpenRestore } from '../restores/read-restores.sql.ts';
import { ShardFenced } from '../live-state/shard-fenced.ts';
import { ShardEpochs } from './shard-epochs.sql.ts';
import { ShardFiller } from './shard-filler.ts';
import { ShardOpening } from './shard-opening.ts';

const LOOK_MS = 1_000;
const RETRY_MS = 200;
/**
 * Each second checks this many shards, in turn; a missing epoch in one makes the control plane check all of them. Reading 64 keys every second would
 * use a third of the fleet's idle budget.
 */
const SHARDS_PER_LOOK = 4;

/**
 * Keeps an epoch in every shard. Without an epoch all functions refuse (docs/design/metering.md#loss-of-redis-data): at the first start until the
 * live records are written, and after Redis lost its data until they are written again from PostgreSQL.
 */
@Injectable()
export class EpochsService extends BackgroundService {
  private readonly shards: string[];
  private nextIndex = 0;
  private isSuspicious = true;

  constructor(
    private readonly dataSource: DataSource,
    private readonly epochs: Epochs,
    private readonly shardEpochs: ShardEpochs,
    private readonly filler: ShardFiller,
    private readonly opening: ShardOpening,
    private readonly alerts: AlertsService,
    @Inject(CONFIG) config: Pick<Config, 'SHARDS'>,
    @Optional() private readonly host: Host = new Host(),
  ) {
    super({
      name: 'epochs',
      everyMs: LOOK_MS,
      retryMs: RETRY_MS,
      failing: 'shards cannot be watched; trying again',
    });
    this.shards = shardNames(config.SHARDS);
  }

  protected override onFailing(error: unknown): void | Promise<void> {
    // Redis may also have lost data when this failure occurred.
    this.isSuspicious = true;
    return super.onFailing(error);
  }

  override async onApplicationShutdown(): Promise<void> {
    await super.onApplicationShutdown();
    this.opening.stop();
  }

  /**
   * Gives every shard that lacks an epoch a new one, except shards that another replica is filling. When PostgreSQL or a primary of Redis does not
   * answer, it finishes the other shards and then throws.
   */
  async ensureAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const shard of this.shards)
      await this.ensure(shard).catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  protected async runOnce(): Promise<void> {
    if (this.isSuspicious) {
      await this.ensureAll();
      this.isSuspicious = false;
      return;
    }
    const shards = this.nextShards();
    // The order of these reads does not matter: `ensure` reads both again in the right order, and knows about restores.
    const [current, ...found] = await Promise.all([
      this.shardEpochs.lookedAt(shards),
      ...shards.map((shard) => this.epochs.readOpen(shard)),
    ]);
    if (found.includes(null)) return this.ensureAll();
    const isStale = shards.some(
      (shard, index) => current.has(shard) && current.get(shard) !== found[index],
    );
    if (isStale) await this.ensureAll();
  }

  private nextShards(): string[] {
    const from = this.nextIndex;
    this.nextIndex = (from + SHARDS_PER_LOOK) % this.shards.length;
    const count = Math.min(SHARDS_PER_LOOK, this.shards.length);
    return [...this.shards, ...this.shards].slice(from, from + count);
  }

  private async ensure(shard: string): Promise<void> {
    const lock = [ADVISORY_LOCK_FAMILIES.shardRebuild, this.shards.indexOf(shard)] as const;
    if (await this.isStale(shard)) {
      await ifUnlocked(this.dataSource, lock, async () => {
        if (await this.isStale(shard)) await this.fill(shard, { isStale: true });
      });
      return;
    }
    if (await this.epochs.isOpen(shard)) return;
    const restoring = await this.epochs.readRestoring(shard);
    // The replica that wrote the mark may have stopped.
    if (restoring !== null) return this.opening.openSoon(shard, restoring);
    // Another replica may be filling the shard already, or has filled it between the check and the lock.
    await ifUnlocked(this.dataSource, lock, async () => {
      if ((await this.epochs.read(shard)) !== null) return;
      // The mark of an unfinished fill is there: data that the fill had not removed yet may be from before a loss.
      const isUnfinished = (await this.epochs.readRaw(shard)) !== null;
      await this.fill(shard, { isUnfinished });
    });
  }

  /**
   * Returns whether Redis has another epoch than PostgreSQL: Redis' file was restored from before the shard was lost, or PostgreSQL failed over to a
   * replica that lacks the change. PostgreSQL's books decide in both cases. Redis is read first, because a change of epoch writes the mark of a
   * rebuild there before it writes to PostgreSQL. Books from a backup know the older epoch, and Redis' data is evidence then.
   */
  private async isStale(shard: string): Promise<boolean> {
    const found = await this.epochs.read(shard);
    if (found === null) return false;
    const current = await this.shardEpochs.current(shard);
    if (current === null || current === found) return false;
    return !(await hasOpenRestore(this.dataSource));
  }

  /**
   * Fills a shard. The shard stays fenced until the last record is written. A process that dies here leaves the mark of a rebuild, which counts as no
   * epoch, so the next fill starts again without the existing data. Nodes deliver usage that only they know when they learn of the new epoch; it is
   * booked first and follows as a credit. The fill keeps no balance of a shard that lost its epoch, because that balance has debits of usage that is
   * booked as unknown to Redis. Only books from a backup learn from it.
   */
  private async fill(
    shard: string,
    { isStale = false, isUnfinished = false }: { isStale?: boolean; isUnfinished?: boolean },
  ): Promise<void> {
    const isLoss = (await this.shardEpochs.current(shard)) !== null;
    const forgets = isStale || isUnfinished || (isLoss && !(await hasOpenRestore(this.dataSource)));
    const subject = `shard:${shard}`;
    if (isLoss) {
      const message = isStale
        ? `Redis has another epoch of shard ${shard} than PostgreSQL: its data is from before a loss, or PostgreSQL lost the change; the shard is being filled again from PostgreSQL`
        : `Redis lost the data of shard ${shard}; it is being filled again from PostgreSQL`;
      this.logger.error(message);
      await this.alerts.raise(this.dataSource.manager, {
        rule: 'redis_data_lost',
        subject,
        message,
        detail: { kind: isStale ? 'stale' : 'lost', shard },
      });
    }
    const epoch = this.host.uuid();
    await this.epochs.beginRebuild(shard, epoch);
    await this.shardEpochs.change(shard, epoch);
    if (forgets) await this.filler.forget(shard);
    await this.filler.fill(shard);
    const isFull = isLoss
      ? await this.epochs.beginRestoring(shard, epoch)
      : await this.epochs.openFilled(shard, epoch);
    if (!isFull) throw new ShardFenced(`shard ${shard} has lost its data while it was filled`);
    if (!isLoss) return;
    await this.opening.openSoon(shard, epoch);
    await this.alerts.resolve(this.dataSource.manager, { rule: 'redis_data_lost', subject });
  }
}
