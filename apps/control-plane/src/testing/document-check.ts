import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { z } from 'zod';

interface Sent {
  method: string;
  /** Is the path with the prefix, without the query. */
  path: string;
  status: number;
  contentType: string;
  body: unknown;
}

const response = z.looseObject({
  $ref: z.string().optional(),
  content: z.record(z.string(), z.unknown()).optional(),
  'x-codes': z.array(z.string()).optional(),
});
const operation = z.looseObject({ responses: z.record(z.string(), response) });
const problem = z.looseObject({ code: z.string() });

/** A test keeps it equal to what the code says; after a change of the interface `npm run generate` rewrites it. */
const COMMITTED = path.join(import.meta.dirname, '../../../../libs/admin-client/openapi.json');

/** Holds real answers against the API document: every spec that calls the control plane proves a piece of it. */
export class DocumentCheck {
  /** Holds `METHOD /path/{id}` of every route that answered 2xx so far. */
  readonly succeeded = new Set<string>();
  readonly document: OpenAPIObject;
  private readonly ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    formats: {
      'date-time': (text: string) => !Number.isNaN(Date.parse(text)),
      date: /^\d{4}-\d{2}-\d{2}$/,
      uuid: true,
      uri: true,
    },
  });
  private readonly validators = new Map<string, ValidateFunction>();
  private readonly routes: { path: string; pattern: RegExp }[];

  constructor(document?: OpenAPIObject) {
    this.document = document ?? (JSON.parse(readFileSync(COMMITTED, 'utf8')) as OpenAPIObject);
    this.ajv.addSchema(this.document, 'document');
    // Paths with fewer parameters come first: /models/market is not a model's id.
    this.routes = Object.keys(this.document.paths)
      .toSorted((a, b) => a.split('{').length - b.split('{').length)
      .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }));
  }

  /** Throws an error when the answer is not as documented. Undocumented parts are not checked. */
  check(sent: Sent): void {
    const path = this.routes.find(({ pattern }) => pattern.test(sent.path))?.path;
    const found =
      path === undefined
        ? undefined
        : z.record(z.string(), z.unknown()).parse(this.document.paths[path])[
            sent.method.toLowerCase()
          ];
    if (path === undefined || found === undefined) return;
    const name = `${sent.method} ${path}`;
    const { responses } = operation.parse(found);
    const described =
      responses[String(sent.status)] ?? (sent.status >= 500 ? responses['default'] : undefined);
    if (!described)
      throw new Error(
        `${name} answered ${sent.status} ${JSON.stringify(sent.body)}, which is not documented`,
      );
    if (sent.status < 300) this.succeeded.add(name);
    if (sent.status >= 400) this.checkCode(name, sent, described.$ref);
    else if (sent.contentType.startsWith('application/json'))
      this.checkShape(
        name,
        `document#/paths/${path.replaceAll('~', '~0').replaceAll('/', '~1')}/${sent.method.toLowerCase()}/responses/${sent.status}/content/application~1json/schema`,
        sent.body,
      );
    else if (
      described.content &&
      !(sent.contentType.split(';')[0]?.trim() ?? '' in described.content)
    )
      throw new Error(`${name} answered ${sent.contentType}, which is not documented`);
  }

  private checkCode(name: string, { status, body }: Sent, ref: string | undefined): void {
    this.checkShape(name, 'document#/components/schemas/Problem', body);
    const shared = z.record(z.string(), response).parse(this.document.components?.responses ?? {});
    const codes = shared[ref?.split('/').at(-1) ?? '']?.['x-codes'] ?? [];
    const { code } = problem.parse(body);
    if (!codes.includes(code))
      throw new Error(`${name} answered ${status} ${code}, documented are ${codes.join(', ')}`);
  }

  private checkShape(name: string, $ref: string, body: unknown): void {
    const validate = this.validators.get($ref) ?? this.ajv.compile({ $ref });
    this.validators.set($ref, validate);
    if (!validate(body))
      throw new Error(
        `${name} answered what is not documented: ${this.ajv.errorsText(validate.errors)}\n${JSON.stringify(body, null, 1).slice(0, 2_000)}`,
      );
  }
}
