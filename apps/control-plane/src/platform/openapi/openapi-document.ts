import { Injectable } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { z } from 'zod';
import { RouteTable, type RouteEntry } from '../access/route-table.ts';

const VERSION = '1.0.0';
const SECURITY = 'session';

const operation = z.looseObject({ operationId: z.string().optional() });
const pathItem = z.record(z.string(), operation);

const problemSchema = {
  type: 'object',
  description: 'RFC 9457. `code` says which refusal it is.',
  required: ['type', 'title', 'status', 'detail', 'code', 'errors', 'request_id'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string' },
    errors: { type: 'array', items: { type: 'object', required: ['field', 'message'], properties: { field: { type: 'string' }, message: { type: 'string' } } } },
    request_id: { type: 'string' },
  },
} as const;

/** The API document, compiled once from the routes, their zod schemas and their permissions. */
@Injectable()
export class OpenApiDocument {
  private document: OpenAPIObject | undefined;

  constructor(private readonly routes: RouteTable) {}

  /** Called once, when the application is wired. */
  compile(app: INestApplication, prefix: string): void {
    const base = new DocumentBuilder()
      .setOpenAPIVersion('3.1.0')
      .setTitle('Tollgate administration')
      .setDescription('Users, wallets, models, keys, upstreams, routes and proxy nodes of a Tollgate installation.')
      .setVersion(VERSION)
      .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, SECURITY)
      .build();
    const document = SwaggerModule.createDocument(app, base, { standardSchemaConverter: toJsonSchema, operationIdFactory: (controller, method) => `${controller.replace(/Controller$/, '')}_${method}` });
    document.components = { ...document.components, schemas: { ...document.components?.schemas, Problem: problemSchema as never } };
    for (const route of this.routes.routes()) describe(document, route, prefix);
    this.document = document;
  }

  read(): OpenAPIObject {
    if (!this.document) throw new Error('the API document was not compiled');
    return this.document;
  }
}

/** Adds what the framework cannot know: who may call it, and how it refuses. */
function describe(document: OpenAPIObject, route: RouteEntry, prefix: string): void {
  const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
  const item = document.paths[`/${prefix}${path}`] ?? document.paths[path];
  const found = item && pathItem.safeParse(item).data?.[route.method.toLowerCase()];
  if (!found) return;
  const problem = { description: 'Refused', content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } };
  const responses = { ...z.record(z.string(), z.unknown()).catch({}).parse(found['responses']), default: problem };
  const security = route.permission === 'public' ? [] : [{ [SECURITY]: [] }];
  Object.assign(item, { [route.method.toLowerCase()]: { ...found, responses, security, 'x-permission': route.permission } });
}

function toJsonSchema(schema: unknown, { schemaType }: { schemaType: 'input' | 'output' }) {
  if (!(schema instanceof z.ZodType)) return undefined;
  const { $schema: _, ...converted } = z.toJSONSchema(schema, { target: 'draft-2020-12', io: schemaType, unrepresentable: 'any' });
  return { schema: converted as never };
}
