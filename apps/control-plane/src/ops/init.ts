import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { configSchema } from '../config.ts';
import { EXIT, say, UsageError, type Call, type Command } from './command.ts';

/** The packed folder has the file at the same place. */
const USERS_FILE = path.join(import.meta.dirname, '../../../../deploy/redis/users.acl');
/** Equals the largest number of pods that the chart's autoscaling may request. */
const PODS = 12;
const COMPOSE_NODES = ['node-1', 'node-2'];
const NODE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/;

/** Secrets that compose asks for beside those of its nodes; deploy/example.env describes them. */
const COMPOSE_SECRETS = [
  'POSTGRES_PASSWORD',
  'POSTGRES_OWNER_PASSWORD',
  'POSTGRES_RUNTIME_PASSWORD',
  'POSTGRES_READER_PASSWORD',
  'REDIS_PASSWORD',
  'REDIS_CONTROL_PLANE_PASSWORD',
  'REDIS_NODE_PASSWORD',
  'REDIS_QUEUE_PASSWORD',
  'JWT_SECRET',
  'ENCRYPTION_KEY',
  'FLEET_CREDENTIAL',
  'METRICS_CREDENTIAL',
  'BOOTSTRAP_ADMIN_PASSWORD',
] as const;

const addresses = z.object({
  DATABASE_ADMIN_URL: configSchema.shape.DATABASE_URL,
  REDIS_URL: configSchema.shape.REDIS_URL,
});
type Addresses = z.output<typeof addresses>;
type Data = Readonly<Record<string, string>>;

const TARGETS: Readonly<Record<string, (nodes: readonly string[]) => string>> = {
  kubernetes: (nodes) =>
    kubernetesSecrets(
      readAddresses(),
      nodes.length > 0 ? nodes : Array.from({ length: PODS }, (_, pod) => `tollgate-node-${pod}`),
    ),
  compose: (nodes) => composeFile(nodes.length > 0 ? nodes : COMPOSE_NODES),
};

export const initCommand: Command = {
  synopsis: 'kubernetes|compose [NODE…]',
  says: 'Draws every secret of a new installation, a credential for each node, and prints them: Secrets for "kubectl create -f -", or the file deploy/.env. For kubernetes DATABASE_ADMIN_URL and REDIS_URL name the servers.',
  run: async ({ args: [target = '', ...nodes] }: Call) => {
    const print = Object.hasOwn(TARGETS, target) ? TARGETS[target] : undefined;
    if (!print)
      throw new UsageError(`This command takes ${Object.keys(TARGETS).join(' or ')}, then nodes.`);
    const wrong = nodes.find((name) => !NODE_NAME.test(name));
    if (wrong !== undefined)
      throw new UsageError(
        `${JSON.stringify(wrong)} is no name of a node: use letters, digits, dots, dashes and underscores.`,
      );
    say(print(nodes));
    return EXIT.done;
  },
};

function readAddresses(): Addresses {
  const parsed = addresses.safeParse(process.env);
  if (parsed.success) return parsed.data;
  const names = parsed.error.issues.map(({ path: [name] }) => String(name));
  throw new UsageError(
    `${names.join(' and ')}: set the address in the environment: DATABASE_ADMIN_URL=postgresql://ADMINISTRATOR:PASSWORD@HOST:5432/DATABASE, REDIS_URL=redis://HOST:6379`,
  );
}

/** Draws 32 bytes in base64url: every secret of Tollgate may have this form. */
function draw(): string {
  return randomBytes(32).toString('base64url');
}

function composeFile(nodes: readonly string[]): string {
  const named = nodes.map(
    (name) => `${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_CREDENTIAL`,
  );
  return [
    '# Settings besides these secrets: deploy/example.env.',
    'BOOTSTRAP_ADMIN_USERNAME=admin',
    ...[...COMPOSE_SECRETS, ...named].map((name) => `${name}=${draw()}`),
  ].join('\n');
}

function kubernetesSecrets(servers: Addresses, nodes: readonly string[]): string {
  const credentials = Object.fromEntries(nodes.map((name) => [name, draw()]));
  const redis = redisAccess(servers.REDIS_URL);
  const shared = {
    ENCRYPTION_KEY: draw(),
    METRICS_CREDENTIAL: draw(),
    REDIS_QUEUE_URL: redis.queue,
  };
  const items = [
    secret('tollgate', {
      ...databaseAddresses(servers.DATABASE_ADMIN_URL),
      REDIS_URL: redis.controlPlane,
      ...shared,
      JWT_SECRET: draw(),
      FLEET_CREDENTIAL: draw(),
      NODE_CREDENTIALS: nodes.map((name) => `${name}=${credentials[name]}`).join(','),
      BOOTSTRAP_ADMIN_USERNAME: 'admin',
      BOOTSTRAP_ADMIN_PASSWORD: draw(),
    }),
    secret('tollgate-nodes', { REDIS_URL: redis.node, ...shared }),
    secret('tollgate-node-credentials', credentials),
    ...(redis.users === undefined
      ? []
      : [secret('tollgate-redis-users', { 'users.acl': redis.users })]),
  ];
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, null, 2);
}

function secret(name: string, stringData: Data): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, type: 'Opaque', stringData };
}

/** Returns the roles that `migrate` makes, and the administrator that makes them. */
function databaseAddresses(administrator: string): Data {
  return {
    DATABASE_URL: withLogin(administrator, 'tollgate_runtime', draw()),
    DATABASE_OWNER_URL: withLogin(administrator, 'tollgate_owner', draw()),
    DATABASE_READER_URL: withLogin(administrator, 'tollgate_reader', draw()),
    DATABASE_ADMIN_URL: administrator,
  };
}

/** An address with a login is of a Redis with one user, which all processes share. Otherwise each kind of process has its own, and `users` makes them. */
function redisAccess(url: string): {
  controlPlane: string;
  node: string;
  queue: string;
  users?: string;
} {
  if (/^[^/]*\/\/[^/]*@/.test(url)) return { controlPlane: url, node: url, queue: url };
  const [controlPlane, node, queue] = [draw(), draw(), draw()];
  const users = readFileSync(USERS_FILE, 'utf8')
    .replace('${REDIS_CONTROL_PLANE_PASSWORD}', controlPlane)
    .replace('${REDIS_NODE_PASSWORD}', node)
    .replace('${REDIS_QUEUE_PASSWORD}', queue);
  return {
    controlPlane: withLogin(url, 'control-plane', controlPlane),
    node: withLogin(url, 'node', node),
    queue: withLogin(url, 'bullmq', queue),
    users,
  };
}

/** Replaces the login of an address; a list of hosts, as of a cluster, is no address that URL reads. */
function withLogin(url: string, name: string, password: string): string {
  return url.replace(/^([^/]*\/\/)(?:[^/@]*@)?/, `$1${name}:${password}@`);
}
