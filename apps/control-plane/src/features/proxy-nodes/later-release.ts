import { Injectable, type OnModuleInit } from '@nestjs/common';
import { FORMATS, readFormatsOf, type FormatNumbers, type NodeReport } from '@tollgate/contracts';
import { FleetStore } from '@tollgate/keyspace';
import { InvalidConfig } from '../../config.ts';
import { RedisAtStart } from '../../platform/redis/redis-at-start.ts';
import { NodeRepository } from './node-repository.sql.ts';

/** A node reports each second. One whose last report is older has gone, or writes reports that cannot be read here. */
const REPORTS_MS = 30_000;

/**
 * Refuses to start while nodes write a format that this release cannot read: the release before must not take the place of a later control plane
 * before it has taken the place of the nodes. It could book none of their usage. What Redis says of names that PostgreSQL does not know stops no start, nor
 * does what it still says of nodes that this release has replaced while no control plane ran.
 */
@Injectable()
export class LaterRelease implements OnModuleInit {
  constructor(
    private readonly fleet: FleetStore,
    private readonly repository: NodeRepository,
    private readonly redis: RedisAtStart,
  ) {}

  /** Throws `InvalidConfig` and changes nothing. */
  async onModuleInit(): Promise<void> {
    const stated = await this.redis.read('the formats that nodes write', () => this.stated());
    if (stated === undefined || stated.length === 0) return;
    const { nodes } = await this.repository.fleet();
    const later = stated.filter(({ name }) => nodes.has(name));
    if (later.length === 0) return;
    const named = later.map(({ name, format }) => `${name} (${format})`).join(', ');
    throw new InvalidConfig(
      `Nodes write formats of a later release, which this one cannot read: ${named}; nothing was changed. Start the control plane of the later release again, replace these nodes by this release (delete those that do not return), and then replace the control planes (docs/admin-guide.md#upgrade).`,
    );
  }

  /** Returns the names for which Redis has a later format, without the nodes that report from this release. */
  private async stated(): Promise<{ name: string; format: string }[]> {
    const desired = await this.fleet.listDesired();
    const reports = await this.fleet.listReports({ nowMs: Date.now(), ageMaxMs: REPORTS_MS });
    return [...desired].flatMap(([name, { formats = {} }]) => {
      const format = laterOf(formats);
      return format === undefined || isOfThisRelease(reports, name) ? [] : [{ name, format }];
    });
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
