import type { OpenAPIObject } from '@nestjs/swagger';
import { z } from 'zod';
import type { RouteEntry } from './route-table.ts';
import { REFUSALS, type RefusalCode } from '../http/refusals.ts';
import { IDEMPOTENCY_HEADER } from '../idempotency/idempotency.ts';
import { EXAMPLE, OPTIONAL, type DocumentBook } from './document-book.ts';

/** Names the two ways to present a session. */
export const SECURITY = { bearer: 'bearer', cookie: 'cookie' } as const;

const parameter = z.looseObject({ name: z.string(), in: z.string() });
const operation = z.looseObject({
  operationId: z.string(),
  parameters: z.array(parameter).default([]),
  requestBody: z.unknown().optional(),
  responses: z.record(z.string(), z.looseObject({})),
});
const jsonBody = z.looseObject({
  content: z.object({ 'application/json': z.object({ schema: z.looseObject({}) }) }),
});
type Operation = z.output<typeof operation>;

/** Adds what the framework cannot know: the summary, the permission, the answers and the refusals. */
export function describeRoute(
  document: OpenAPIObject,
  { route, prefix, book }: { route: RouteEntry; prefix: string; book: DocumentBook },
): void {
  const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
  const item = document.paths[`/${prefix}${path}`] ?? document.paths[path];
  const verb = route.method.toLowerCase();
  const found = item && z.record(z.string(), z.unknown()).parse(item)[verb];
  if (!found) return;
  const described = operation.parse(found);
  Object.assign(item, {
    [verb]: {
      ...described,
      summary: route.answers?.summary ?? '',
      parameters: [
        ...described.parameters.map(describeParameter),
        ...(changesRecord(route) ? [IF_MATCH] : []),
      ],
      ...describeBody(described.requestBody),
      responses: {
        ...successOf(described, route, book),
        ...refusalsOf(codesOf(described, route), book),
      },
      security:
        route.permission === 'public' ? [] : [{ [SECURITY.bearer]: [] }, { [SECURITY.cookie]: [] }],
      'x-permission': route.permission,
      'x-session-only': route.isSessionOnly,
    },
  });
}

const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description: 'The `ETag` under which the record was read: it is changed only if it still has it',
};

/** Lists imports that replace all rows of a table and so take no entity tag. */
const IMPORTS: ReadonlySet<string> = new Set(['/models/families']);

function changesRecord({ method, path }: RouteEntry): boolean {
  return method === 'PUT' && !IMPORTS.has(path);
}

/** Parts of paths by their names; any other is a UUID. */
const PATH_SCHEMAS: Readonly<Record<string, object>> = {
  id: { type: 'integer', minimum: 1 },
  credential_id: { type: 'integer', minimum: 0 },
};

function describeParameter(described: z.output<typeof parameter>) {
  if (described.in !== 'path') return described;
  return {
    ...described,
    schema: PATH_SCHEMAS[described.name] ?? { type: 'string', format: 'uuid' },
  };
}

function describeBody(found: unknown) {
  const { data } = jsonBody.safeParse(found);
  if (!data) return {};
  const {
    [OPTIONAL]: isOptional,
    [EXAMPLE]: example,
    ...schema
  } = data.content['application/json'].schema;
  const required = isOptional !== true;
  return {
    requestBody: { ...data, required, content: { 'application/json': { schema, example } } },
  };
}

function successOf(described: Operation, { answers }: RouteEntry, book: DocumentBook) {
  const status = Object.keys(described.responses).find((text) => text.startsWith('2')) ?? '200';
  const schema = answers?.schema ? book.convert(answers.schema, 'output')?.schema : undefined;
  if (!schema) return { [status]: { description: 'Done' } };
  const csv = answers?.isAlsoCsv ? { 'text/csv': { schema: { type: 'string' } } } : {};
  return {
    [status]: {
      description: status === '201' ? 'Created' : 'Done',
      content: {
        [answers?.isStream ? 'text/event-stream' : 'application/json']: { schema },
        ...csv,
      },
    },
  };
}

/** Groups the refusals by status, each with its codes. Answers that every server may give are `default`. */
function refusalsOf(codes: readonly RefusalCode[], book: DocumentBook) {
  const byStatus = Object.entries(Object.groupBy(codes, (code) => String(REFUSALS[code].status)));
  return {
    ...Object.fromEntries(byStatus.map(([status, these = []]) => [status, book.refusal(these)])),
    default: book.refusal(['internal_error', 'service_unavailable']),
  };
}

/** Returns the codes of every route of this kind, then the route's own. */
function codesOf({ parameters, requestBody }: Operation, route: RouteEntry): RefusalCode[] {
  const isChange = route.method !== 'GET';
  const takes = (name: string): boolean => parameters.some((one) => one.name === name);
  const codes: RefusalCode[] = [
    ...(requestBody || parameters.length > 0 || route.permission !== 'public'
      ? (['invalid_request'] as const)
      : []),
    ...(requestBody ? (['malformed_json', 'body_too_large'] as const) : []),
    ...(route.permission === 'public'
      ? []
      : (['unauthenticated', 'forbidden', 'token_scope', 'password_change_needed'] as const)),
    ...(isChange ? (['unsupported_media_type'] as const) : []),
    ...(changesRecord(route) ? (['precondition_failed'] as const) : []),
    ...(route.isSessionOnly ? (['session_needed'] as const) : []),
    ...(route.freshPassword ? (['session_needed', 'password_needed'] as const) : []),
    ...(isChange && route.permission !== 'public' ? (['origin_not_allowed'] as const) : []),
    ...(['id', 'rid', 'sid', 'node_id'].some(takes) ||
    (takes('user_id') && route.permission !== 'public')
      ? (['not_found'] as const)
      : []),
    ...(takes('cursor') ? (['invalid_cursor'] as const) : []),
    ...(takes(IDEMPOTENCY_HEADER)
      ? (['idempotency_in_progress', 'idempotency_key_reused'] as const)
      : []),
    ...(route.answers?.refuses ?? []),
  ];
  return [...new Set(codes)].toSorted((a, b) => REFUSALS[a].status - REFUSALS[b].status);
}
