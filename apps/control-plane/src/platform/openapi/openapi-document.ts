import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { VERSION } from '@tollgate/contracts';
import type { RouteTable } from './route-table.ts';
import { FIELD_FAULTS } from '../http/field-faults.ts';
import { describeRoute, SECURITY } from './describe-route.ts';
import { DocumentBook } from './document-book.ts';

const DESCRIPTION = `Users, wallets, models, keys, upstreams, routes and proxy nodes of a Tollgate installation.

Sign in with \`POST /admin-api/auth/login\` and send the token as \`Authorization: Bearer\`. \`x-permission\` of a route says who may call it: \`public\`, \`user\` (an active account, for its own data) or \`admin\`.
Money is decimal text, times are ISO 8601 UTC, unknown fields are refused, and every failure is problem+json (RFC 9457) with a \`code\`. \`x-rules\` states what JSON Schema cannot, in the words of the refusal; those of the document hold everywhere.`;

/** The order of the tags is the order in which readers see them. */
const TAGS: Readonly<Record<string, string>> = {
  auth: 'Sessions of the administration interface',
  users: 'Accounts: approve, reject, freeze, unfreeze, delete',
  wallet: 'Money: balance, ledger, recharge',
  models: 'Catalogue, pricing and subscriptions',
  previews: 'What a purchase, a refund, a request or a price would come to, before it is done',
  playground: 'A temporary key to try models with',
  keys: 'API keys for /v1',
  budgets: 'What keys and accounts may use in a period',
  incidents: 'Why requests fail, and which run',
  ceilings: 'What the request limits of keys are bounded by',
  upstreams: 'Providers that answer requests',
  routing: 'Which upstream answers for which model',
  'proxy nodes': 'The fleet, node by node',
  proxy: 'The fleet as a whole, or one node with `node_id`',
  snapshots: 'Published configuration: versions, comparison, rollback',
  usage: 'Requests, statistics, receipts',
  dashboard: 'The whole installation at a glance',
  bulk: 'One act on many records, planned before it is applied',
  search: 'For the command palette',
  'first steps': 'The steps before the first call',
  events: 'What happens, as it happens',
  'dead letters': 'Usage that could not be booked, for a person to decide',
  books: 'Whether all books agree, and when that was last proven',
  alerts: 'What an operator should know',
  activity: 'Who changed what',
  health: 'For load balancers and supervisors',
};

/** Compiles the API document from the routes, their zod schemas and their permissions, which takes 0.5 s of CPU: `npm run generate` does it, and no start. */
export function compileDocument(
  app: INestApplication,
  { prefix, routes }: { prefix: string; routes: RouteTable },
): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Tollgate administration')
    .setDescription(DESCRIPTION)
    .setVersion(VERSION);
  builder.addBearerAuth(
    {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'From `POST /admin-api/auth/login`; 12 hours',
    },
    SECURITY.bearer,
  );
  builder.addCookieAuth(
    'tollgate_session',
    {
      type: 'apiKey',
      in: 'cookie',
      description: 'For pages of the same origin: `POST /admin-api/auth/login?session=cookie`',
    },
    SECURITY.cookie,
  );
  for (const [name, description] of Object.entries(TAGS)) builder.addTag(name, description);
  const book = new DocumentBook();
  const document = SwaggerModule.createDocument(app, builder.build(), {
    standardSchemaConverter: (schema, { schemaType }) => book.convert(schema, schemaType),
    operationIdFactory: (controller, method) =>
      `${controller.replace(/Controller$/, '')}_${method}`,
  });
  for (const route of routes.routes()) describeRoute(document, { route, prefix, book });
  document.components = { ...document.components, ...book.components() };
  return Object.assign(document, { 'x-rules': [FIELD_FAULTS.unstorable] });
}
