import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import {
  DiscoveryService,
  MetadataScanner,
  ModulesContainer,
  NestFactory,
  Reflector,
} from '@nestjs/core';
import type { OpenAPIObject } from '@nestjs/swagger';
import { AppModule } from './app.module.ts';
import { loadConfig } from './config.ts';
import { ADMIN_PREFIX, OUTSIDE_PREFIX } from './create-app.ts';
import { RouteTable } from './platform/openapi/route-table.ts';
import { compileDocument } from './platform/openapi/openapi-document.ts';

/** Nothing is connected to: in preview mode the framework looks at the classes and makes no instance. */
const CONFIG = {
  DATABASE_URL: 'postgres://localhost/none',
  REDIS_URL: 'redis://localhost:1',
  JWT_SECRET: randomBytes(32).toString('base64url'),
  FLEET_CREDENTIAL: randomBytes(32).toString('base64url'),
  ENCRYPTION_KEY: randomBytes(32).toString('base64url'),
};

/** Writes the API document, without a database or Redis. */
export async function describeApi(): Promise<OpenAPIObject> {
  const app = await NestFactory.create(AppModule.with(loadConfig(CONFIG)), {
    preview: true,
    logger: false,
    abortOnError: false,
  });
  app.setGlobalPrefix(ADMIN_PREFIX, { exclude: OUTSIDE_PREFIX });
  const routes = new RouteTable(
    new DiscoveryService(app.get(ModulesContainer)),
    new MetadataScanner(),
    new Reflector(),
  );
  return compileDocument(app, { prefix: ADMIN_PREFIX, routes });
}
