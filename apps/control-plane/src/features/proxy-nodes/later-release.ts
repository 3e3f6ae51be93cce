import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { FORMATS, type DesiredNodeState, type FormatNumbers } from '@tollgate/contracts';
import { FleetStore, redisReady, type RedisConnection } from '@tollgate/keyspace';
import { InvalidConfig } from '../../config.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';

/** A control plane starts while Redis is away, and this check waits no longer than this. */
const READY_MS = 2_000;

/**
 * Refuses to start while nodes write a format that this release cannot read: the release before must not take the place of a later control plane
 * before it has taken the place of the nodes. It could book none of their usage.
 */
@Injectable()
export class LaterRelease implements OnModuleInit {
  private readonly logger = new Logger('fleet');

  constructor(
    private readonly fleet: FleetStore,
    @Inject(REDIS) private readonly redis: RedisConnection,
  ) {}

  /** Throws `InvalidConfig` and changes nothing. */
  async onModuleInit(): Promise<void> {
    const later = [...(await this.desired())].flatMap(([name, { formats = {} }]) => {
      const format = laterOf(formats);
      return format === undefined ? [] : [`${name} (${format})`];
    });
    if (later.length === 0) return;
    throw new InvalidConfig(
      `Nodes write formats of a later release, which this one cannot read: ${later.join(', ')}; nothing was changed. Start the control plane of the later release again, replace these nodes by this release (delete those that do not return), and then replace the control planes (docs/admin-guide.md#upgrade).`,
    );
  }

  private async desired(): Promise<ReadonlyMap<string, DesiredNodeState>> {
    try {
      await redisReady(this.redis, READY_MS);
      return await this.fleet.listDesired();
    } catch (error) {
      this.logger.warn(error, 'the formats that nodes write could not be read');
      return new Map();
    }
  }
}

function laterOf(formats: FormatNumbers): string | undefined {
  const known: FormatNumbers = FORMATS;
  const found = Object.entries(formats).find(([format, number]) => number > (known[format] ?? 1));
  return found && `${found[0]} ${found[1]}`;
}
