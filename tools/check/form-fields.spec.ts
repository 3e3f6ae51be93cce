import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { ROOT } from '@tollgate/tools';
import { FORMS, isDrawn, namesIn, WITHOUT_FIELD, WITHOUT_FORM } from './form-fields.ts';

interface Schema {
  properties?: Record<string, unknown>;
  anyOf?: Schema[];
}
interface Operation {
  operationId?: string;
  requestBody?: { content: Record<string, { schema: Schema }> };
}

const FEATURES = path.join(ROOT, 'apps/console/src/features');

const { paths, components } = JSON.parse(
  readFileSync(path.join(ROOT, 'libs/admin-client/openapi.json'), 'utf8'),
) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: { KeyLimit: { enum: string[] } } };
};

/** Returns the writable fields of each operation that takes a body, by the API document. */
function writableFields(): Map<string, string[]> {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  return new Map(
    operations.flatMap(({ operationId, requestBody }) => {
      const schema = requestBody?.content['application/json']?.schema;
      const object =
        schema && [schema, ...(schema.anyOf ?? [])].find(({ properties }) => properties);
      return operationId === undefined || !object
        ? []
        : [[operationId, Object.keys(object.properties ?? {})] as const];
    }),
  );
}

const writable = writableFields();
const reasonOf = (operation: string, field: string): string | undefined =>
  WITHOUT_FIELD[`${operation}.${field}`] ?? WITHOUT_FIELD[field];
const hasField = (operation: string, field: string): boolean =>
  isDrawn(field, components.schemas.KeyLimit.enum) ||
  namesIn(FEATURES, FORMS[operation] ?? []).has(field);

test('every body of the API document is sent by a form of the console, or says why not', () => {
  const silent = [...writable.keys()].filter(
    (operation) => !(operation in FORMS) && !(operation in WITHOUT_FORM),
  );
  expect(silent).toEqual([]);
});

test('every writable field has a field in a form, or says why not', () => {
  const missing = Object.keys(FORMS).flatMap((operation) =>
    (writable.get(operation) ?? [])
      .filter((field) => !hasField(operation, field) && reasonOf(operation, field) === undefined)
      .map((field) => `${operation}.${field}`),
  );
  expect(missing).toEqual([]);
});

test('no reason is given for a field or an operation that the API does not have, or that a form has', () => {
  const known = new Set(
    [...writable].flatMap(([name, fields]) => [
      name,
      ...fields.flatMap((field) => [field, `${name}.${field}`]),
    ]),
  );
  const named = [
    ...Object.keys(WITHOUT_FIELD),
    ...Object.keys(WITHOUT_FORM),
    ...Object.keys(FORMS),
  ];
  expect(named.filter((name) => !known.has(name))).toEqual([]);
  const answered = Object.keys(WITHOUT_FIELD).filter((name) => {
    const [operation = '', field] = name.split('.');
    return field !== undefined && hasField(operation, field);
  });
  expect(answered).toEqual([]);
});
