import { hkdfSync, timingSafeEqual } from 'node:crypto';
import { parseEnvironment, secretFault } from '@tollgate/contracts';
import { TRACES_SETTINGS } from '@tollgate/tracing';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';

/** Is injection token of the validated settings: `@Inject(CONFIG) config: Config`. */
export const CONFIG = Symbol('CONFIG');

const secret = () =>
  z.string().superRefine((text, context) => {
    const fault = secretFault(text);
    if (fault !== undefined) context.addIssue(fault);
  });
const encryptionKey = () => secret().regex(/^[A-Za-z0-9_-]{43}$/, 'must be 32 bytes in base64url');
const count = (fallback: number, maximum: number, minimum = 1) =>
  z.coerce.number().int().min(minimum).max(maximum).default(fallback);
const list = () =>
  z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    );
const networkList = () =>
  list().refine(
    (parts) => parts.every(isNetwork),
    'must be a comma-separated list of addresses or CIDR ranges',
  );

/** Credentials by name; a node without one is left out, because a compose file may name it. */
function readNodeCredentials(text: string, context: z.RefinementCtx): ReadonlyMap<string, string> {
  const pairs = text
    .split(',')
    .map((pair) => /^([^=]+)=(.*)$/.exec(pair.trim()))
    .filter((pair) => pair !== null)
    .map(([, name = '', credential = '']) => [name, credential] as const);
  for (const [name, credential] of pairs) {
    const fault = credential === '' ? undefined : secretFault(credential);
    if (fault !== undefined)
      context.addIssue({ code: 'custom', message: `credential of ${name}: ${fault}` });
  }
  return new Map(pairs.filter(([, credential]) => credential !== ''));
}

/** Every environment variable the control plane reads; docs/configuration.md is written from these descriptions. */
export const configSchema = z.object({
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).describe('PostgreSQL connection URL.'),
  DATABASE_POOL_MAX: count(20, 1000, 5).describe(
    'Connections to PostgreSQL this process may hold; up to four of them for locks, whose work needs another.',
  ),
  REDIS_URL: z
    .string()
    .regex(
      /^rediss?(-cluster|-sentinel)?:\/\/./,
      'must start with redis://, redis-cluster:// or redis-sentinel:// (rediss for TLS)',
    )
    .describe(
      'Redis: redis://host:port, redis-cluster://host:port,host:port or redis-sentinel://host:port,host:port/master; rediss for TLS.',
    ),
  REDIS_QUEUE_URL: z
    .string()
    .regex(/^rediss?(-cluster|-sentinel)?:\/\/./, 'must be an address like REDIS_URL')
    .optional()
    .describe('The same Redis as the user of the queue; REDIS_URL unless given.'),
  JWT_SECRET: secret().describe(
    'Signs sessions of the administration interface; 32 random bytes in base64url or hex.',
  ),
  JWT_SECRET_NEXT: secret()
    .optional()
    .describe(
      'A second secret whose sessions are accepted as well, while JWT_SECRET is changed on one process after the other.',
    ),
  ENCRYPTION_KEY: encryptionKey().describe(
    '32 bytes in base64url; upstream secrets at rest and in Redis are sealed with keys derived from it. Proxy nodes need the same value.',
  ),
  ENCRYPTION_KEY_NEXT: encryptionKey()
    .optional()
    .describe(
      'A second key that is read as well, while ENCRYPTION_KEY is changed on one process after the other.',
    ),
  FLEET_CREDENTIAL: secret().describe(
    'Lets a proxy node register itself by its first heartbeat; 32 random bytes in base64url or hex.',
  ),
  FLEET_CREDENTIAL_NEXT: secret()
    .optional()
    .describe(
      'A second credential that is accepted as well, while nodes are given another NODE_CREDENTIAL one after the other.',
    ),
  NODE_CREDENTIALS: z
    .string()
    .default('')
    .transform(readNodeCredentials)
    .describe(
      'Nodes with a credential of their own, comma-separated name=credential pairs; a name that was never registered is registered at the start.',
    ),
  METRICS_CREDENTIAL: secret()
    .optional()
    .describe('What Prometheus presents to read /metrics; FLEET_CREDENTIAL unless given.'),
  HOST: z.string().default('127.0.0.1').describe('Address to listen on.'),
  PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65535)
    .default(8080)
    .describe('Port to listen on; 0 chooses a free one.'),
  SHARDS: count(64, 1024).describe('Redis shards; fixed for the life of an installation.'),
  CURRENCY: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be a three-letter currency code')
    .default('USD')
    .describe('The one currency of all wallets and prices (ISO 4217).'),
  PAYMENTS: z
    .enum(['none', 'sandbox', 'stripe'])
    .default('none')
    .describe('Payment provider of wallet/recharge. sandbox credits at once and is for tests.'),
  STRIPE_SECRET_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('With PAYMENTS=stripe: secret key of the Stripe account.'),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .min(16)
    .optional()
    .describe(
      'With PAYMENTS=stripe: signing secret of the webhook endpoint, which is /webhooks/stripe.',
    ),
  STRIPE_API_URL: z
    .url({ protocol: /^https?$/ })
    .default('https://api.stripe.com')
    .describe('Where the Stripe API is; another value is for tests.'),
  PAYMENT_RETURN_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('With PAYMENTS=stripe: page a payer returns to, usually the console.'),
  ADMIN_API_ACCESS: z
    .enum(['self-service', 'administrators'])
    .default('self-service')
    .describe('administrators closes the whole administration interface to everyone else.'),
  UPSTREAM_ALLOW_PRIVATE: networkList().describe(
    'Private address ranges upstreams may live in (comma-separated CIDR); none by default.',
  ),
  TRUSTED_PROXIES: networkList().describe(
    'Addresses or CIDR ranges of the reverse proxies in front; only their X-Forwarded-For counts. Empty: the peer address counts.',
  ),
  CONSOLE_ORIGINS: list().describe(
    'Origins, besides the address itself, from which the console cookie may change things, e.g. https://console.example.com.',
  ),
  CONSOLE_FOLDER: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder of the built console, served at /; by default the one of this release. A folder without an index.html switches the console off.',
    ),
  REGISTRATIONS_PER_ADDRESS_PER_DAY: count(100, 1_000_000).describe(
    'Accounts one address may register in 24 hours.',
  ),
  WALLET_CORRECTION_MAX: count(100_000, 1_000_000_000).describe(
    'Largest amount, in units of CURRENCY, of one wallet/adjust or wallet/withdraw.',
  ),
  FREE_TOKENS_PER_ACCOUNT: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .default(10_000_000)
    .describe(
      'Unspent tokens bought at a price of 0 that one account may hold over all its subscriptions; a purchase beyond it is refused.',
    ),
  KEYS_PER_ACCOUNT: count(200, 100_000).describe('API keys an account may have at a time.'),
  USAGE_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(36_500)
    .default(400)
    .describe(
      'Days for which usage logs keep each request; 0 keeps them without limit. Statistics and ledgers are always kept.',
    ),
  USAGE_ARCHIVE: z
    .enum(['optional', 'required'])
    .default('optional')
    .describe(
      'required: a day is dropped after USAGE_RETENTION_DAYS only once tollgate-ops export has exported all of it.',
    ),
  BOOTSTRAP_ADMIN_USERNAME: z
    .string()
    .min(1)
    .optional()
    .describe('Name of the first administrator; used once, when no administrator exists.'),
  BOOTSTRAP_ADMIN_PASSWORD: z
    .string()
    .min(8)
    .optional()
    .describe('Password of the first administrator; there is no default.'),
  ALERT_WEBHOOK_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Where alerts are sent as signed JSON, besides being listed; private addresses only inside UPSTREAM_ALLOW_PRIVATE.',
    ),
  ALERT_WEBHOOK_SECRET: secret()
    .optional()
    .describe('Signs what is sent to ALERT_WEBHOOK_URL; 32 random bytes in base64url or hex.'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Least severe level that is logged.'),
  ACCESS_LOG: z
    .enum(['on', 'off'])
    .default('on')
    .describe('off: requests of the administration interface are logged at level debug.'),
  ...TRACES_SETTINGS,
});

export type Config = z.output<typeof configSchema>;

export class InvalidConfig extends Error {}

/** Throws InvalidConfig with one line per wrong variable; values are never repeated, they may be secrets. */
export function loadConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const parsed = parseEnvironment(configSchema, environment);
  if ('problems' in parsed) throw new InvalidConfig(parsed.problems.join('\n'));
  refuseSharedSecrets(parsed.data);
  if (
    (parsed.data.BOOTSTRAP_ADMIN_USERNAME === undefined) !==
    (parsed.data.BOOTSTRAP_ADMIN_PASSWORD === undefined)
  ) {
    throw new InvalidConfig('BOOTSTRAP_ADMIN_USERNAME and BOOTSTRAP_ADMIN_PASSWORD go together');
  }
  if (
    (parsed.data.ALERT_WEBHOOK_URL === undefined) !==
    (parsed.data.ALERT_WEBHOOK_SECRET === undefined)
  ) {
    throw new InvalidConfig('ALERT_WEBHOOK_URL and ALERT_WEBHOOK_SECRET go together');
  }
  refuseUnsignedPayments(parsed.data);
  return parsed.data;
}

/** Returns the address of BullMQ's keys, with the user that may touch them. */
export function queueUrlOf({
  REDIS_QUEUE_URL,
  REDIS_URL,
}: Pick<Config, 'REDIS_QUEUE_URL' | 'REDIS_URL'>): string {
  return REDIS_QUEUE_URL ?? REDIS_URL;
}

/** Derives a key for one purpose, so that no secret is ever used for two (security S12). */
export function derivedKey(masterSecret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterSecret, '', `tollgate/${purpose}/v1`, 32));
}

function refuseSharedSecrets(config: Config): void {
  const secrets = [
    { name: 'JWT_SECRET', value: config.JWT_SECRET },
    { name: 'ENCRYPTION_KEY', value: config.ENCRYPTION_KEY },
    { name: 'FLEET_CREDENTIAL', value: config.FLEET_CREDENTIAL },
    ...(['JWT_SECRET_NEXT', 'FLEET_CREDENTIAL_NEXT', 'METRICS_CREDENTIAL'] as const).flatMap(
      (name) => ({ name, value: config[name] ?? [] }),
    ),
  ].flatMap(({ name, value }) =>
    typeof value === 'string' ? { name, bytes: derivedKey(value, 'compare') } : [],
  );
  for (const [index, one] of secrets.entries()) {
    const twin = secrets.slice(index + 1).find((other) => timingSafeEqual(one.bytes, other.bytes));
    if (twin) throw new InvalidConfig(`${one.name} and ${twin.name} must differ`);
  }
}

/** A webhook without a secret would let anyone credit their own wallet (security S29). */
function refuseUnsignedPayments(config: Config): void {
  if (config.PAYMENTS !== 'stripe') return;
  const missing = (
    ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET', 'PAYMENT_RETURN_URL'] as const
  ).filter((name) => config[name] === undefined);
  if (missing.length > 0)
    throw new InvalidConfig(`${missing.join(', ')}: PAYMENTS=stripe needs it`);
}

function isNetwork(text: string): boolean {
  return text.includes('/') ? ipaddr.isValidCIDR(text) : ipaddr.isValid(text);
}
