import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const client = path.join(import.meta.dirname, '../../libs/admin-client');
const named = z.object({
  components: z.object({
    schemas: z.record(
      z.string(),
      z.object({
        enum: z.array(z.string()).optional(),
        'x-rows': z.array(z.record(z.string(), z.unknown())).optional(),
      }),
    ),
  }),
});

/** Converts `ChargedClass` to `CHARGED_CLASSES`. */
function constantOf(name: string): string {
  const plural = name.endsWith('s') ? `${name}es` : `${name}s`;
  return plural.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
}

/** Every named enumeration of the API document becomes a constant: its rows where it has some, otherwise its values. */
const { schemas } = named.parse(
  JSON.parse(readFileSync(path.join(client, 'openapi.json'), 'utf8')),
).components;
const tables = Object.entries(schemas).flatMap(([name, { enum: values, 'x-rows': rows }]) =>
  values
    ? [`export const ${constantOf(name)} = ${JSON.stringify(rows ?? values, null, 2)} as const;`]
    : [],
);
writeFileSync(path.join(client, 'src/__generated__/tables.ts'), `${tables.join('\n\n')}\n`);
