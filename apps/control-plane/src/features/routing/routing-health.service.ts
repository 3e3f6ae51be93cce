import { Injectable } from '@nestjs/common';
import { NodeRegistry } from '../proxy-nodes/node-registry.ts';
import { percentiles, sumHistograms } from '../usage/histogram.ts';
import { UsageStore } from '../usage/api/usage-store.sql.ts';
import type { RouteHour } from '../usage/route-hours.sql.ts';
import type { RoutingHealth } from './routing-health.dto.ts';

const P95 = [0.95];

/** Shows the health of routes: the traffic of the last day, and the routes that nodes avoid now. */
@Injectable()
export class RoutingHealthService {
  constructor(
    private readonly usage: UsageStore,
    private readonly registry: NodeRegistry,
  ) {}

  async read(): Promise<RoutingHealth> {
    return {
      as_of: new Date().toISOString(),
      traffic: trafficOf(await this.usage.routeHours()),
      failing: await this.failing(),
    };
  }

  private async failing(): Promise<RoutingHealth['failing']> {
    const { nodes } = await this.registry.look();
    return [...nodes.keys()].flatMap((node) =>
      this.registry.watch
        .workersOf(node)
        .filter(({ isLive }) => isLive)
        .flatMap(({ report }) =>
          report.upstreams.map((upstream) => ({
            upstream_id: upstream.id,
            node,
            worker: report.worker,
            failures_in_row: upstream.failures_in_row,
            rests_for_ms: upstream.open_for_ms,
            accounts_resting: upstream.accounts_resting ?? 0,
          })),
        ),
    );
  }
}

function trafficOf(rows: readonly RouteHour[]): RoutingHealth['traffic'] {
  const pairs = Map.groupBy(rows, (row) => `${row.model_id} ${row.upstream_id}`);
  const ofModel = new Map<number, number>();
  for (const { model_id: id, requests } of rows) ofModel.set(id, (ofModel.get(id) ?? 0) + requests);
  return [...pairs.values()].flatMap((hours) => {
    const [first] = hours;
    if (!first) return [];
    const { model_id, upstream_id } = first;
    const requests = hours.reduce((sum, row) => sum + row.requests, 0);
    const p95 = (name: 'duration' | 'first_token'): number | null =>
      percentiles(sumHistograms(hours.map((row) => row[name])), P95)[0] ?? null;
    return {
      model_id,
      upstream_id,
      requests,
      errors: hours.reduce((sum, row) => sum + row.errors, 0),
      share: requests / (ofModel.get(model_id) ?? requests),
      duration_p95_ms: p95('duration'),
      first_token_p95_ms: p95('first_token'),
    };
  });
}
