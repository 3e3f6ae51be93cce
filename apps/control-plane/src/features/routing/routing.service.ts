import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { hasEmbeddings } from '@tollgate/contracts';
import type { MODEL_KINDS } from '@tollgate/snapshot';
import { Repository, type EntityManager } from 'typeorm';
import type { Caller } from '../../platform/access/caller.ts';
import { refuseTwins } from '../../platform/http/refuse-twins.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { refuseStale } from '../../platform/http/entity-tag.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { refusedField } from '../../platform/http/field-faults.ts';
import { invalidField, noSuch, Refusal } from '../../platform/http/refusal.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { ModelsService } from '../models/models.service.ts';
import { SnapshotsService } from '../snapshots/snapshots.service.ts';
import { UpstreamsService } from '../upstreams/upstreams.service.ts';
import { Route } from './route.entity.ts';
import {
  NO_EMBEDDINGS,
  type CreateRoute,
  type RouteList,
  type RouteResponse,
  type UpdateRoute,
} from './routing.dto.ts';

interface ModelFacts {
  name: string;
  kind: (typeof MODEL_KINDS)[number];
}

@Injectable()
export class RoutingService {
  constructor(
    @InjectRepository(Route) private readonly routes: Repository<Route>,
    private readonly transactions: Transactions,
    private readonly upstreams: UpstreamsService,
    private readonly snapshots: SnapshotsService,
    private readonly activity: ActivityService,
    private readonly idempotency: Idempotency,
    private readonly models: ModelsService,
  ) {}

  list(query: RouteList): Promise<Page<RouteResponse>> {
    const builder = this.routes.createQueryBuilder('route');
    if (query.model_id !== undefined)
      builder.andWhere('route.modelId = :modelId', { modelId: query.model_id });
    if (query.upstream_id !== undefined)
      builder.andWhere('route.upstreamId = :upstreamId', { upstreamId: query.upstream_id });
    if (query.enabled !== undefined)
      builder.andWhere('route.enabled = :enabled', { enabled: query.enabled });
    return readPage(builder, query, {
      columns: {
        id: 'route.id',
        model_id: 'route.modelId',
        upstream_id: 'route.upstreamId',
        priority: 'route.priority',
      },
      search: ['route.upstreamModel'],
      map: toRouteResponse,
    });
  }

  async get(id: number): Promise<RouteResponse> {
    const row = await this.routes.findOneBy({ id });
    if (!row) throw noSuch('route', id);
    return toRouteResponse(row);
  }

  async ofUpstream(upstreamId: number): Promise<RouteResponse[]> {
    return (await this.routes.findBy({ upstreamId })).map(toRouteResponse);
  }

  async create(caller: Caller, body: CreateRoute, key: string | undefined): Promise<RouteResponse> {
    const request = { userId: caller.userId, route: 'POST /routing', key, body, status: 201 };
    const result = this.idempotency.run(request, async (tx) => {
      const model = await this.checkEnds(tx, {
        modelId: body.model_id,
        upstreamId: body.upstream_id,
      });
      const repository = tx.getRepository(Route);
      const inserted = await repository.insert({
        ...columnsOf(body),
        upstreamModel: body.upstream_model ?? model.name,
      });
      const id: number = inserted.identifiers[0]?.['id'];
      const after = toRouteResponse(await repository.findOneByOrFail({ id }));
      this.activity.record(tx, caller, {
        action: 'route.create',
        target: { kind: 'route', id },
        after,
      });
      this.snapshots.changed(tx);
      return after;
    });
    return refuseTwins(result, TAKEN);
  }

  async update(caller: Caller, id: number, body: UpdateRoute): Promise<RouteResponse> {
    const result = this.transactions.run(async (tx) => {
      const row = await this.lock(tx, id);
      refuseStale(caller, row);
      const before = toRouteResponse(row);
      const next = { ...row, ...columnsOf(body) };
      if (next.modelId !== row.modelId || next.upstreamId !== row.upstreamId)
        await this.checkEnds(tx, next);
      const after = toRouteResponse(await tx.getRepository(Route).save(next));
      this.activity.record(tx, caller, {
        action: 'route.update',
        target: { kind: 'route', id },
        before,
        after,
      });
      this.snapshots.changed(tx);
      return after;
    });
    return refuseTwins(result, TAKEN);
  }

  async delete(caller: Caller, id: number): Promise<void> {
    await this.transactions.run(async (tx) => {
      const row = await this.lock(tx, id);
      await tx.getRepository(Route).delete({ id });
      this.activity.record(tx, caller, {
        action: 'route.delete',
        target: { kind: 'route', id },
        before: toRouteResponse(row),
      });
      this.snapshots.changed(tx);
    });
  }

  /** Deletes the routes of a deleted model, which would otherwise keep an upstream from being deleted. */
  async deleteOfModel(tx: EntityManager, modelId: number): Promise<void> {
    await tx.getRepository(Route).delete({ modelId });
  }

  private async lock(tx: EntityManager, id: number): Promise<Route> {
    const row = await tx
      .getRepository(Route)
      .findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
    if (!row) throw noSuch('route', id);
    return row;
  }

  /** Checks that the model and the upstream exist and serve the same endpoints; locks both until `tx` ends. */
  private async checkEnds(
    tx: EntityManager,
    ends: { modelId: number; upstreamId: number },
  ): Promise<ModelFacts> {
    const model = await this.models.lock(tx, ends.modelId, {
      mode: 'pessimistic_read',
      field: 'model_id',
    });
    const protocol = await this.upstreams.protocolOf(tx, ends.upstreamId);
    if (protocol === undefined) throw noSuch('upstream', ends.upstreamId, 'upstream_id');
    if (model.kind === 'embedding' && !hasEmbeddings(protocol))
      throw invalidField('upstream_id', NO_EMBEDDINGS);
    return { name: model.name, kind: model.kind };
  }
}

const TAKEN = {
  routes_twin: () =>
    new Refusal('route_exists', {
      errors: [refusedField('upstream_model', 'this model is already routed to it there')],
    }),
};

function columnsOf(body: UpdateRoute): Partial<Route> {
  return {
    ...(body.model_id !== undefined && { modelId: body.model_id }),
    ...(body.upstream_id !== undefined && { upstreamId: body.upstream_id }),
    ...(body.upstream_model !== undefined && { upstreamModel: body.upstream_model }),
    ...(body.priority !== undefined && { priority: body.priority }),
    ...(body.weight !== undefined && { weight: body.weight }),
    ...(body.enabled !== undefined && { enabled: body.enabled }),
    ...(body.output_limit_field !== undefined && { outputLimitField: body.output_limit_field }),
    ...(body.context_window !== undefined && { contextWindow: body.context_window }),
  };
}

function toRouteResponse(row: Route): RouteResponse {
  return {
    id: row.id,
    model_id: row.modelId,
    upstream_id: row.upstreamId,
    upstream_model: row.upstreamModel,
    priority: row.priority,
    weight: row.weight,
    enabled: row.enabled,
    output_limit_field: row.outputLimitField,
    context_window: row.contextWindow,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}
