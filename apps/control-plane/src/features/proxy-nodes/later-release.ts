import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import {
  FORMATS,
  readFormatsOf,
  type DesiredNodeState,
  type FormatNumbers,
  type NodeReport,
} from '@tollgate/contracts';
import { FleetStore, redisReady, type RedisConnection } from '@tollgate/keyspace';
import { InvalidConfig } from '../../config.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { NodeRepository } from './node-repository.sql.ts';

/** A control plane starts while Redis is away, and this check waits no longer than this. */
const READY_MS = 2_000;
/** A node reports each second. One whose last report is older has gone, or writes reports that cannot be read here. */
const REPORTS_MS = 30_000;

/**
 * Refuses to start while nodes write a format that this release cannot read: the release before must not take the place of a later control plane
 * before it has taken the place of the nodes. It could book none of their usage. What Redis says of names that PostgreSQL does not know stops no start, nor
 * does what it still says of nodes that this release has replaced while no control plane ran.
 */
@Injectable()
export class LaterRelease implements OnModuleInit {
  private readonly logger = new Logger('fleet');

  constructor(
    private readonly fleet: FleetStore,
    private readonly repository: NodeRepository,
    @Inject(REDIS) private readonly redis: RedisConnection,
  ) {}

  /** Throws `InvalidConfig` and changes nothing. */
  async onModuleInit(): Promise<void> {
    const { desired, reports } = await this.said();
    const stated = [...desired].flatMap(([name, { formats = {} }]) => {
      const format = laterOf(formats);
      return format === undefined || isOfThisRelease(reports, name) ? [] : [{ name, format }];
    });
    if (stated.length === 0) return;
    const { nodes } = await this.repository.fleet();
    const later = stated.filter(({ name }) => nodes.has(name));
    if (later.length === 0) return;
    const named = later.map(({ name, format }) => `${name} (${format})`).join(', ');
    throw new InvalidConfig(
      `Nodes write formats of a later release, which this one cannot read: ${named}; nothing was changed. Start the control plane of the later release again, replace these nodes by this release (delete those that do not return), and then replace the control planes (docs/admin-guide.md#upgrade).`,
    );
  }

  private async said(): Promise<{
    desired: ReadonlyMap<string, DesiredNodeState>;
    reports: readonly NodeReport[];
  }> {
    try {
      await redisReady(this.redis, READY_MS);
      const desired = await this.fleet.listDesired();
      const age = { nowMs: Date.now(), ageMaxMs: REPORTS_MS };
      return { desired, reports: await this.fleet.listReports(age) };
    } catch (error) {
      this.logger.warn(error, 'the formats that nodes write could not be read');
      return { desired: new Map(), reports: [] };
    }
  }
}

/** Returns whether a node reports, and reads no format of a later release. */
function isOfThisRelease(reports: readonly NodeReport[], name: string): boolean {
  const own = reports.filter((report) => report.name === name);
  return (
    own.length > 0 &&
    own.every(({ abilities }) => laterOf(readFormatsOf(abilities) ?? {}) === undefined)
  );
}

function laterOf(formats: FormatNumbers): string | undefined {
  const known: FormatNumbers = FORMATS;
  const found = Object.entries(formats).find(([format, number]) => number > (known[format] ?? 1));
  return found && `${found[0]} ${found[1]}`;
}
