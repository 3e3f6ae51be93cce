import { z } from 'zod';
import { databaseSettings } from '../../apps/control-plane/src/ops/database-settings.ts';
import { configSchema as controlPlane } from '../../apps/control-plane/src/config.ts';
import { configSchema as demoUpstream } from '../../apps/demo-upstream/src/config.ts';
import { configSchema as frontDoor } from '../../apps/front-door/src/config.ts';
import { configSchema as proxyNode } from '../../apps/proxy-node/src/config.ts';

const APPS: readonly [name: string, what: string, schema: z.ZodObject][] = [
  [
    'control-plane',
    'Administration interface and the usage worker. Any number of replicas.',
    controlPlane,
  ],
  [
    'tollgate-ops',
    'Commands beside the control plane, which read its variables and these; who may do what is in [roles of PostgreSQL](operations.md#roles-of-postgresql). Control planes must not have them.',
    databaseSettings,
  ],
  ['proxy-node', 'Serves /v1. Any number; each needs a name and a folder of its own.', proxyNode],
  [
    'front-door',
    'The one address of the embedded installation; in production a standard reverse proxy takes its place.',
    frontDoor,
  ],
  [
    'demo-upstream',
    'The fake provider of demo, tests and bench. Not for production.',
    demoUpstream,
  ],
];

const HEAD = `# Configuration

Every environment variable of every process. Written from the schemas in \`apps/*/src/config.ts\` by \`npm run generate\`; a test keeps both equal.
A process refuses to start on a bad value and names the variable. \`npm start\` sets all of them for the embedded installation; \`DATABASE_URL\` and \`REDIS_URL\` in its environment replace the embedded services.
`;

/** Returns the text of docs/configuration.md. */
export function configurationReference(): string {
  return [
    HEAD,
    ...APPS.map(
      ([name, what, schema]) =>
        `## ${name}\n\n${what}\n\n| Variable | Default | Meaning |\n| --- | --- | --- |\n${rowsOf(schema)}\n`,
    ),
  ].join('\n');
}

function rowsOf(schema: z.ZodObject): string {
  return Object.entries(schema.shape)
    .map(([name, field]) => {
      const { defaultText, isRequired } = defaultOf(z.safeParse(field as z.ZodType, undefined));
      return `| \`${name}\` | ${isRequired ? '**required**' : defaultText} | ${descriptionOf(field as z.ZodType)} |`;
    })
    .join('\n');
}

function defaultOf(parsed: { success: boolean; data?: unknown }): {
  isRequired: boolean;
  defaultText: string;
} {
  if (!parsed.success) return { isRequired: true, defaultText: '' };
  const value = isList(parsed.data) ? [...parsed.data].join(',') : parsed.data;
  return {
    isRequired: false,
    defaultText: value === undefined || value === '' ? '' : `\`${String(value)}\``,
  };
}

/** Returns true for a value that the environment states as a comma-separated list. */
function isList(value: unknown): value is readonly unknown[] | ReadonlyMap<unknown, unknown> {
  return Array.isArray(value) || value instanceof Map;
}

function descriptionOf(field: z.ZodType): string {
  const text = field.description;
  if (!text) throw new Error('a variable has no description');
  return text.replaceAll('|', '\\|');
}
