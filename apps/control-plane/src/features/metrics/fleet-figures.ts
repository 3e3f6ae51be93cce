import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { NODE_STATES, USAGE_QUEUE } from '@tollgate/contracts';
import { waitingUsage, type RedisConnection } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { Metrics } from '../../platform/metrics/metrics.ts';
import { QueueBacklog } from '../../platform/queues/queue-backlog.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { ProxyNodesService } from '../proxy-nodes/proxy-nodes.service.ts';
import { SnapshotRepository } from '../snapshots/snapshot-repository.sql.ts';

/** Shows figures of usage that waits on its way from the nodes to PostgreSQL, and of the fleet. Every replica shows the same figures. */
@Injectable()
export class FleetFigures implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    @Inject(REDIS) private readonly redis: RedisConnection,
    @Inject(CONFIG) private readonly config: Config,
    private readonly backlog: QueueBacklog,
    private readonly nodes: ProxyNodesService,
    private readonly snapshots: SnapshotRepository,
    private readonly dataSource: DataSource,
  ) {}

  onModuleInit(): void {
    this.collectOutbox();
    this.collectQueue();
    this.collectFleet();
  }

  private collectOutbox(): void {
    const events = this.metrics.gauge({
      name: 'tollgate_outbox_events',
      help: 'Usage events in the outboxes of all shards, which wait for the relay.',
    });
    const oldest = this.metrics.gauge({
      name: 'tollgate_outbox_oldest_seconds',
      help: 'Age of the oldest event in an outbox; 0 when all are empty.',
    });
    const holds = this.metrics.gauge({
      name: 'tollgate_holds_open',
      help: 'Holds of requests that run.',
    });
    this.metrics.collectWith({
      name: 'outbox',
      gauges: [events, oldest, holds],
      collect: async () => {
        const waiting = await waitingUsage(this.redis, this.config.SHARDS);
        events.set(waiting.events);
        oldest.set(ageSeconds(waiting.oldestAtMs));
        holds.set(waiting.holds);
      },
    });
  }

  private collectQueue(): void {
    const jobs = this.metrics.gauge({
      name: 'tollgate_queue_jobs',
      help: 'Jobs of a queue that are not done.',
      labelNames: ['queue', 'state'],
    });
    const oldest = this.metrics.gauge({
      name: 'tollgate_queue_oldest_seconds',
      help: 'Age of the oldest job that is not done, one that is tried or repeated included; 0 without one.',
      labelNames: ['queue'],
    });
    this.metrics.collectWith({
      name: 'queue',
      gauges: [jobs, oldest],
      collect: async () => {
        const { counts, oldestAtMs } = await this.backlog.standing(USAGE_QUEUE);
        for (const [state, count] of Object.entries(counts))
          jobs.set({ queue: USAGE_QUEUE, state }, count);
        oldest.set({ queue: USAGE_QUEUE }, ageSeconds(oldestAtMs));
      },
    });
  }

  private collectFleet(): void {
    const nodes = this.metrics.gauge({
      name: 'tollgate_nodes',
      help: 'Registered proxy nodes by state.',
      labelNames: ['state'],
    });
    const version = this.metrics.gauge({
      name: 'tollgate_snapshot_published_version',
      help: 'Newest version of the routing document.',
    });
    const pinned = this.metrics.gauge({
      name: 'tollgate_snapshot_pinned',
      help: '1 while a rollback keeps changes from being published.',
    });
    this.metrics.collectWith({
      name: 'fleet',
      gauges: [nodes, version, pinned],
      collect: async () => {
        const states = await this.nodes.states();
        for (const state of NODE_STATES)
          nodes.set({ state }, states.filter((each) => each === state).length);
        const { manager } = this.dataSource;
        version.set((await this.snapshots.latest(manager))?.version ?? 0);
        const { pinnedVersion } = await this.snapshots.settings(manager, { isLocked: false });
        pinned.set(Number(pinnedVersion !== null));
      },
    });
  }
}

function ageSeconds(atMs: number | null): number {
  return atMs === null ? 0 : Math.max(0, (Date.now() - atMs) / 1000);
}
