import { Controller, Get, Headers, Inject, Res } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import { bears, negotiate } from '@tollgate/contracts';
import type { Response } from 'express';
import { CONFIG, type Config } from '../../config.ts';
import { Permission } from '../access/permission.ts';
import { Metrics } from './metrics.ts';

const DENIED =
  'Metrics need METRICS_CREDENTIAL, or without one FLEET_CREDENTIAL: Authorization: Bearer METRICS_CREDENTIAL\n';

/** Serves Prometheus. The route is outside /admin-api, and the front door refuses it. */
@Controller()
export class MetricsController {
  constructor(
    private readonly metrics: Metrics,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get('metrics')
  @Permission('public')
  @ApiExcludeEndpoint()
  async scrape(
    @Res() response: Response,
    @Headers('authorization') authorization?: string,
    @Headers('accept') accept?: string,
  ): Promise<void> {
    const { METRICS_CREDENTIAL, FLEET_CREDENTIAL, FLEET_CREDENTIAL_NEXT } = this.config;
    const accepted =
      METRICS_CREDENTIAL === undefined
        ? [FLEET_CREDENTIAL, FLEET_CREDENTIAL_NEXT]
        : [METRICS_CREDENTIAL];
    if (!accepted.some((each) => each !== undefined && bears(authorization, each))) {
      response.status(401).set('www-authenticate', 'Bearer').type('text/plain').send(DENIED);
      return;
    }
    const { contentType, text } = negotiate(accept, await this.metrics.text());
    response.set('content-type', contentType).send(text);
  }
}
