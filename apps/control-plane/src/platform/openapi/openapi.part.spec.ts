import { beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describeApi } from '../../describe-api.ts';
import { send, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { RouteTable } from './route-table.ts';
import { REFUSALS } from '../http/refusals.ts';

const COMMITTED = path.join(import.meta.dirname, '../../../../../libs/admin-client/openapi.json');
/** Matches paths that are not for callers of the interface: the document itself, its page, and what proves itself by other means than a session. */
const LEFT_OUT = /^\/(openapi\.json|docs(\/.*)?|webhooks\/.*|internal\/.*|metrics)$/;

interface Operation {
  summary?: string;
  tags: string[];
  responses: Record<string, { content?: object }>;
  requestBody?: { content: Record<string, { schema: object; example?: unknown }> };
  'x-permission'?: string;
}

interface ApiDocument {
  openapi: string;
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, { 'x-codes': string[] }> };
}

let plane: ControlPlane;
let document: ApiDocument;
beforeAll(async () => {
  plane = await sharedControlPlane();
  document = (await send<ApiDocument>(`${plane.url}/admin-api/openapi.json`, 'GET', {})).body;
}, 60_000);

const operations = (): [name: string, operation: Operation][] =>
  Object.entries(document.paths).flatMap(([at, item]) =>
    Object.entries(item).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${at}`,
      operation,
    ]),
  );

describe('the API document', () => {
  test('is OpenAPI 3.1 and documents every route with its permission', () => {
    expect(document.openapi).toBe('3.1.0');
    const routes = plane.app
      .get(RouteTable)
      .routes()
      .filter((route) => !LEFT_OUT.test(route.path));
    const missing = routes.filter((route) => {
      const at = route.path.replaceAll(/:(\w+)/g, '{$1}');
      return (
        (document.paths[`/admin-api${at}`] ?? document.paths[at])?.[route.method.toLowerCase()]?.[
          'x-permission'
        ] !== route.permission
      );
    });
    expect(missing).toEqual([]);
    expect(operations()).toHaveLength(routes.length);
  });

  test('gives every route a summary, a tag, what it answers and how it refuses', () => {
    const poor = operations().filter(([, operation]) => {
      const success = Object.entries(operation.responses).find(([status]) =>
        status.startsWith('2'),
      );
      const isTold =
        success !== undefined && (success[0] === '204' || success[1].content !== undefined);
      return (
        !operation.summary ||
        operation.tags.length !== 1 ||
        !isTold ||
        !operation.responses['default']
      );
    });
    expect(poor).toEqual([]);
  });

  test('has an example of every body, which fits its schema', () => {
    const ajv = new Ajv2020({
      strict: false,
      formats: { 'date-time': true, date: true, uri: true },
    });
    const bodies = operations().flatMap(([name, { requestBody }]) =>
      requestBody ? [{ name, ...requestBody.content['application/json'] }] : [],
    );
    expect(bodies.length).toBeGreaterThan(25);
    const unfit = bodies.filter(
      ({ schema, example }) =>
        schema === undefined || example === undefined || !ajv.validate(schema, example),
    );
    expect(unfit.map(({ name }) => name)).toEqual([]);
  });

  test('knows no route with a body that takes one which is not JSON', async () => {
    const withBody = operations().filter(([, operation]) => operation.requestBody !== undefined);
    const taken: string[] = [];
    for (const [name] of withBody)
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', '']) {
        const [method = '', at = ''] = name.split(' ');
        const { status } = await plane.call(
          method,
          at.replace('/admin-api', '').replaceAll(/\{\w+\}/g, '1'),
          {
            token: plane.adminToken,
            rawBody: '{"enabled":false}',
            headers: { 'content-type': type },
          },
        );
        if (status !== 415) taken.push(`${name} of type "${type}" is ${status}`);
      }
    expect(withBody.length).toBeGreaterThan(30);
    expect(taken).toEqual([]);
  });

  test('states rules of several fields, and those that text alone cannot say, in the words of the refusal', async () => {
    const stated = (name: string): string =>
      JSON.stringify(operations().find(([operation]) => operation === name)?.[1]);
    const refusals: [method: string, path: string, body: object | undefined][] = [
      ['POST', '/models/pricing', { model_id: 1, price_per_million: '0' }],
      ['POST', '/models/subscribe', { model_id: 1, tokens: 1, auto_recharge_threshold: 1 }],
      ['POST', '/keys', { name: 'x', expires_at: '2000-01-01' }],
      ['POST', '/upstreams', { name: 'x', protocol: 'openai', base_url: 'here' }],
      ['POST', '/wallet/adjust', { user_id: 1, amount: '0.0000001', note: 'x' }],
      ['GET', '/routing/simulation?model=a&model_id=1', undefined],
      ['GET', '/previews/purchase?model_id=1&amount=9999999999999', undefined],
    ];
    for (const [method, path, body] of refusals) {
      const answer = await plane.call(method, path, {
        token: plane.adminToken,
        ...(body && { body }),
      });
      expect(answer.status).toBe(400);
      for (const { message } of answer.body.errors)
        expect([path, stated(`${method} /admin-api${path.split('?')[0]}`)]).toEqual([
          path,
          expect.stringContaining(message),
        ]);
    }
  });

  test('puts every route under a tag that is explained', () => {
    const tags = new Set(document.tags.map((tag) => tag.name));
    expect(
      operations()
        .filter(([, operation]) => !tags.has(operation.tags[0] ?? ''))
        .map(([name]) => name),
    ).toEqual([]);
  });

  test('names every refusal somewhere, and none that is not in the table', () => {
    const documented = new Set(
      Object.values(document.components.responses).flatMap((response) => response['x-codes']),
    );
    // Lists codes of notices and of unknown paths, which are no routes of the interface.
    const elsewhere = ['payment_mismatch', 'invalid_signature', 'method_not_allowed'];
    expect(
      Object.keys(REFUSALS)
        .filter((code) => !documented.has(code))
        .toSorted(),
    ).toEqual(elsewhere.toSorted());
  });

  test('is the one that is committed, which says what the code says, without a database; otherwise run `npm run generate`', async () => {
    expect(document).toEqual(JSON.parse(readFileSync(COMMITTED, 'utf8')));
    expect(JSON.parse(JSON.stringify(await describeApi()))).toEqual(document);
  }, 30_000);
});

describe('the page that shows it', () => {
  test('is complete by itself, and its policy lets nothing inline or foreign run', async () => {
    const page = await send<string>(`${plane.url}/admin-api/docs`, 'GET', {});
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(page.body).not.toMatch(/<script>|<style|style=|https?:\/\//);
    const files = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(files.length).toBeGreaterThan(2);
    for (const file of files)
      expect((await fetch(new URL(file, `${plane.url}/admin-api/docs`))).status).toBe(200);
  });

  test('serves no file but its own', async () => {
    for (const file of [
      'package.json',
      '..%2fpackage.json',
      'swagger-ui.js.map',
      '%2e%2e%2f%2e%2e%2fpackage.json',
    ])
      expect((await send(`${plane.url}/admin-api/docs/${file}`, 'GET', {})).status).toBe(404);
  });
});
