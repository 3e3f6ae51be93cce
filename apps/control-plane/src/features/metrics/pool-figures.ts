import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { Metrics } from '../../platform/metrics/metrics.ts';

/** Describes the pool of https://node-postgres.com/apis/pool. */
const pool = z.object({
  totalCount: z.number(),
  idleCount: z.number(),
  waitingCount: z.number(),
});
const poweredByPool = z.object({ master: z.unknown() });

/** Shows this process' connections to PostgreSQL. */
@Injectable()
export class PoolFigures implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly dataSource: DataSource,
  ) {}

  onModuleInit(): void {
    const connections = this.metrics.gauge({
      name: 'tollgate_postgresql_connections',
      help: 'Connections of this process to PostgreSQL; waiting: callers without one.',
      labelNames: ['state'],
    });
    this.metrics.collectWith({
      name: 'pool',
      gauges: [connections],
      collect: async () => {
        const { master } = poweredByPool.parse(this.dataSource.driver);
        const { totalCount, idleCount, waitingCount } = readPool(master);
        connections.set({ state: 'used' }, totalCount - idleCount);
        connections.set({ state: 'idle' }, idleCount);
        connections.set({ state: 'waiting' }, waitingCount);
      },
    });
  }
}

/** The counts are getters of the pool's class, which a copy would lack. */
function readPool(master: unknown): z.output<typeof pool> {
  const counts: Record<string, unknown> = Object(master);
  return pool.parse({
    totalCount: counts.totalCount,
    idleCount: counts.idleCount,
    waitingCount: counts.waitingCount,
  });
}
