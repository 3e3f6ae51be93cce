import { Injectable } from '@nestjs/common';
import { canExchange, isNative, type Speech } from '@tollgate/protocols';
import { endpointsOf } from '@tollgate/snapshot';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { refusedField } from '../../platform/http/field-faults.ts';
import { noSuch, Refusal } from '../../platform/http/refusal.ts';
import { findModel } from '../models/known-models.sql.ts';
import { NodeRegistry } from '../proxy-nodes/node-registry.ts';
import { routedUpstreams, type RoutedUpstream } from '../upstreams/read-upstreams.sql.ts';
import type {
  RoutingSimulation,
  SimulatedRoute,
  SimulationQuery,
} from './routing-simulation.dto.ts';

const routeRow = z.object({
  id: z.number(),
  upstream_id: z.number(),
  upstream_model: z.string(),
  priority: z.number(),
  weight: z.number(),
  enabled: z.boolean(),
});
type RouteRow = z.output<typeof routeRow> & { upstream: RoutedUpstream };

/**
 * Shows where a request would go now: the routes of a model in the order in which nodes try them. Nodes decide by the snapshot that they run and by
 * their own observations.
 */
@Injectable()
export class RoutingSimulationService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly registry: NodeRegistry,
  ) {}

  async simulate(query: SimulationQuery): Promise<RoutingSimulation> {
    const model = await this.modelOf(query);
    const resting = await this.resting();
    const groups = grouped(await this.routesOf(model.id), query.protocol);
    const open = groups.findIndex((group) =>
      group.some((row) => exclusionOf(row, query.protocol, resting) === null),
    );
    const routes = groups.flatMap((group, order) =>
      describeGroup(group, { order, isNext: order === open, protocol: query.protocol, resting }),
    );
    return {
      model_id: model.id,
      model: model.name,
      protocol: query.protocol,
      is_servable: model.is_on_shelf && open >= 0,
      reason: reasonOf(model.is_on_shelf, routes),
      routes,
    };
  }

  private async modelOf({ model, model_id: id }: SimulationQuery) {
    const found = await findModel(this.dataSource, { id, name: model });
    if (found !== undefined) return found;
    if (id !== undefined) throw noSuch('model', id, 'model_id');
    const detail = 'There is no model of that name';
    throw new Refusal('not_found', { detail, errors: [refusedField('model', detail)] });
  }

  private async routesOf(modelId: number): Promise<RouteRow[]> {
    const rows: unknown[] = await this.dataSource.query(
      'SELECT id, upstream_id, upstream_model, priority, weight, enabled FROM routes WHERE model_id = $1 ORDER BY id',
      [modelId],
    );
    const routes = rows.map((row) => routeRow.parse(row));
    const upstreams = await routedUpstreams(
      this.dataSource,
      routes.map(({ upstream_id: id }) => id),
    );
    return routes.flatMap((route) => {
      const upstream = upstreams.get(route.upstream_id);
      return upstream === undefined ? [] : [{ ...route, upstream }];
    });
  }

  /** Returns the upstreams that at least one worker avoids now, with the number of such workers. */
  private async resting(): Promise<Map<number, number>> {
    const { nodes } = await this.registry.look();
    const counts = new Map<number, number>();
    for (const name of nodes.keys())
      for (const { report, isLive } of this.registry.watch.workersOf(name))
        for (const { id, open_for_ms: openForMs } of isLive ? report.upstreams : [])
          if (openForMs > 0) counts.set(id, (counts.get(id) ?? 0) + 1);
    return counts;
  }
}

function speechOf({ upstream }: RouteRow): Speech {
  return { protocol: upstream.protocol, endpoints: endpointsOf(upstream) };
}

/** Groups routes by priority, lowest first; within a group, routes of the caller's protocol come before those that need translation. */
function grouped(rows: readonly RouteRow[], protocol: SimulationQuery['protocol']): RouteRow[][] {
  const rank = (row: RouteRow): number =>
    row.priority * 2 + (isNative(protocol, speechOf(row)) ? 0 : 1);
  const ranks = [...new Set(rows.map(rank))].toSorted((a, b) => a - b);
  return ranks.map((one) => rows.filter((row) => rank(row) === one));
}

function exclusionOf(
  row: RouteRow,
  protocol: SimulationQuery['protocol'],
  resting: ReadonlyMap<number, number>,
): SimulatedRoute['excluded_by'] {
  if (!row.enabled) return 'route_disabled';
  if (!row.upstream.enabled) return 'upstream_disabled';
  if (!canExchange(protocol, speechOf(row))) return 'protocol';
  return resting.has(row.upstream_id) ? 'resting' : null;
}

function describeGroup(
  group: readonly RouteRow[],
  {
    order,
    isNext,
    protocol,
    resting,
  }: {
    order: number;
    isNext: boolean;
    protocol: SimulationQuery['protocol'];
    resting: ReadonlyMap<number, number>;
  },
): SimulatedRoute[] {
  const free = group.filter((row) => exclusionOf(row, protocol, resting) === null);
  const weights = free.reduce((sum, { weight }) => sum + weight, 0);
  return group.map((row) => {
    const excludedBy = exclusionOf(row, protocol, resting);
    return {
      route_id: row.id,
      upstream_id: row.upstream_id,
      upstream: row.upstream.name,
      upstream_model: row.upstream_model,
      priority: row.priority,
      weight: row.weight,
      order,
      is_translated: !isNative(protocol, speechOf(row)),
      excluded_by: excludedBy,
      resting_on_workers: resting.get(row.upstream_id) ?? 0,
      share: isNext && excludedBy === null ? row.weight / weights : 0,
    };
  });
}

function reasonOf(isOnShelf: boolean, routes: readonly SimulatedRoute[]): string | null {
  if (!isOnShelf) return 'The model is off the shelf';
  if (routes.length === 0) return 'The model has no route';
  if (routes.every(({ excluded_by: by }) => by !== null))
    return 'No route can be tried now; each says why';
  return null;
}
