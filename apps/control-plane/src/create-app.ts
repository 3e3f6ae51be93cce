import { NestFactory } from '@nestjs/core';
import { endConnectionsOnClose, refuseUnclearFraming } from '@tollgate/contracts';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import express from 'express';
import type { Tracing } from '@tollgate/tracing';
import type { Logger as Pino } from 'pino';
import { AppModule } from './app.module.ts';
import type { Config } from './config.ts';
import { RouteTable } from './platform/openapi/route-table.ts';
import { BUILT_CONSOLE, readConsole } from './platform/console/console-files.ts';
import { serveConsole } from './platform/console/serve-console.ts';
import { refuseOtherBodies } from './platform/server/json-bodies.ts';
import { refuseOtherMethods } from './platform/server/known-methods.ts';
import { answerUnknownPath, nameBodyError } from './platform/server/problem-filter.ts';
import { identifyRequest } from './platform/http/visitor.ts';
import { requestLog } from './platform/server/request-log.ts';
import { securityHeaders } from './platform/server/security-headers.ts';
import { TRACING } from './platform/tracing/tracing.module.ts';
import { Metrics } from './platform/metrics/metrics.ts';
import { StructuredLogger } from './platform/logging/logger.ts';

export const ADMIN_PREFIX = 'admin-api';
export const OUTSIDE_PREFIX = [
  'healthz',
  'readyz',
  'metrics',
  'webhooks/{*path}',
  'internal/{*path}',
];
const OUTSIDE = new Set(OUTSIDE_PREFIX.map((path) => path.split('/')[0] ?? ''));
/** The largest legitimate body is an upstream with many headers; far below this. */
const BODY_BYTES_MAX = '256kb';

/** Makes the whole control plane, started but not yet listening. */
export async function createApp(config: Config, pino: Pino): Promise<NestExpressApplication> {
  const server = express();
  // The adapter makes the router, which keeps only what was set until then.
  server.set('case sensitive routing', true);
  const adapter = new ExpressAdapter(server);
  const app = await NestFactory.create<NestExpressApplication>(AppModule.with(config), adapter, {
    logger: new StructuredLogger(pino),
    // The application reads JSON alone: a form another site posts must not parse. Raw bodies are kept for signed webhooks.
    bodyParser: false,
    rawBody: true,
    abortOnError: false,
  });
  refuseUnclearFraming(app.getHttpServer());
  endConnectionsOnClose(app.getHttpServer());
  app.set('trust proxy', config.TRUSTED_PROXIES.length > 0 ? config.TRUSTED_PROXIES : false);
  app.set('query parser', 'simple');
  app.disable('x-powered-by');
  app.disable('etag');
  const watching = {
    pino,
    metrics: app.get(Metrics),
    tracing: app.get<Tracing | null>(TRACING),
    level: config.ACCESS_LOG === 'on' ? ('info' as const) : ('debug' as const),
  };
  app.use(identifyRequest, requestLog(watching), securityHeaders);
  app.use(
    refuseOtherMethods({ prefix: ADMIN_PREFIX, outside: OUTSIDE, routes: app.get(RouteTable) }),
  );
  app.use(`/${ADMIN_PREFIX}`, refuseOtherBodies);
  app.useBodyParser('json', { limit: BODY_BYTES_MAX, inflate: false });
  app.use(nameBodyError);
  app.setGlobalPrefix(ADMIN_PREFIX, { exclude: OUTSIDE_PREFIX });
  app.enableShutdownHooks();
  await app.init();
  const console = readConsole(config.CONSOLE_FOLDER ?? BUILT_CONSOLE);
  if (console) app.use(serveConsole(console));
  app.use(answerUnknownPath);
  return app;
}
