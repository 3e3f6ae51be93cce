import { Body, Controller, Delete, Get, HttpCode, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { pageOf } from '../../platform/http/list-query.ts';
import { IdempotencyKey } from '../../platform/idempotency/idempotency.ts';
import { Answers, AnswersNothing } from '../../platform/openapi/answers.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import {
  createRouteSchema,
  routeListSchema,
  routeResponseSchema,
  updateRouteSchema,
  type CreateRoute,
  type RouteList,
  type UpdateRoute,
} from './routing.dto.ts';
import { routingHealthSchema } from './routing-health.dto.ts';
import { RoutingHealthService } from './routing-health.service.ts';
import {
  routingSimulationSchema,
  simulationQuery,
  type SimulationQuery,
} from './routing-simulation.dto.ts';
import { RoutingSimulationService } from './routing-simulation.service.ts';
import { RoutingService } from './routing.service.ts';

@ApiTags('routing')
@Controller('routing')
export class RoutingController {
  constructor(
    private readonly routing: RoutingService,
    private readonly simulation: RoutingSimulationService,
    private readonly health: RoutingHealthService,
  ) {}

  @Get()
  @Permission('admin')
  @Answers('List routes', pageOf(routeResponseSchema))
  list(@Query({ schema: routeListSchema }) query: RouteList) {
    return this.routing.list(query);
  }

  @Post()
  @Permission('admin')
  @Answers('Route a model to an upstream', routeResponseSchema, {
    refuses: ['not_found', 'route_exists'],
  })
  create(
    @FromCaller() caller: Caller,
    @Body({ schema: createRouteSchema }) body: CreateRoute,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ) {
    return this.routing.create(caller, body, idempotencyKey);
  }

  @Get('simulation')
  @Permission('admin')
  @Answers('Where a request for a model would go now, route by route', routingSimulationSchema, {
    refuses: ['not_found'],
  })
  simulate(@Query({ schema: simulationQuery }) query: SimulationQuery) {
    return this.simulation.simulate(query);
  }

  @Get('health')
  @Permission('admin')
  @Answers(
    'Traffic, errors and latency of each route, and what nodes leave alone',
    routingHealthSchema,
  )
  readHealth() {
    return this.health.read();
  }

  @Get(':id')
  @Permission('admin')
  @Answers('One route', routeResponseSchema)
  get(@IdPath() id: number) {
    return this.routing.get(id);
  }

  @Put(':id')
  @Permission('admin')
  @Answers('Change the given fields of a route', routeResponseSchema, {
    refuses: ['route_exists'],
  })
  update(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: updateRouteSchema }) body: UpdateRoute,
  ) {
    return this.routing.update(caller, id, body);
  }

  @Delete(':id')
  @Permission('admin')
  @AnswersNothing('Delete a route')
  @HttpCode(204)
  async delete(@FromCaller() caller: Caller, @IdPath() id: number) {
    await this.routing.delete(caller, id);
  }
}
