import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import { NodeRegistry } from '../proxy-nodes/node-registry.ts';
import { parseHistogram, percentiles, sumHistograms } from '../usage/histogram.ts';
import type { RoutingHealth } from './routing-health.dto.ts';

const P95 = [0.95];
const histogram = z.string().transform(parseHistogram);
const hourRow = z.object({
  model_id: z.number(),
  upstream_id: z.number(),
  requests: z.string().transform(toSafeInteger),
  errors: z.string().transform(toSafeInteger),
  duration: histogram,
  first_token: histogram,
});
type HourRow = z.output<typeof hourRow>;

/** Upstream 0 stands for requests that reached none. */
const LAST_DAY = `
  SELECT model_id, upstream_id, requests, errors, array_to_string(duration_histogram, ',') AS duration,
    array_to_string(first_token_histogram, ',') AS first_token
  FROM usage_totals WHERE hour > now() - interval '24 hours' AND upstream_id > 0 AND requests > 0 ORDER BY model_id, upstream_id, hour`;

/** How routes fare: the traffic of the last day, and what nodes leave alone now. */
@Injectable()
export class RoutingHealthService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly registry: NodeRegistry,
  ) {}

  async read(): Promise<RoutingHealth> {
    const rows: unknown[] = await this.dataSource.query(LAST_DAY);
    return {
      as_of: new Date().toISOString(),
      traffic: trafficOf(rows.map((row) => hourRow.parse(row))),
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
          (report.upstreams ?? []).map((upstream) => ({
            upstream_id: upstream.id,
            node,
            worker: report.worker,
            failures_in_row: upstream.failures_in_row,
            rests_for_ms: upstream.open_for_ms,
          })),
        ),
    );
  }
}

function trafficOf(rows: readonly HourRow[]): RoutingHealth['traffic'] {
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
