import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseEnvironment, secretFault } from '@tollgate/contracts';
import { TRACES_SETTINGS } from '@tollgate/tracing';
import { z } from 'zod';

/**
 * Lists every variable that a proxy node reads; docs/configuration.md is generated from it. Times end in `_MS`, sizes in `_BYTES`. Each limit states
 * what breaks without it.
 */
const count = (fallback: number) => z.coerce.number().int().positive().default(fallback);
const secret = z.string().superRefine((text, context) => {
  const fault = secretFault(text);
  if (fault !== undefined) context.addIssue(fault);
});
const encryptionKey = secret.regex(/^[A-Za-z0-9_-]{43}$/, 'must be 32 bytes in base64url');

/** Clients need these headers beside the body: ids, waits, limits, and the state of the request. */
const CORS_EXPOSED_DEFAULT = [
  'x-request-id',
  'request-id',
  'x-client-request-id',
  'retry-after',
  'x-should-retry',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'ratelimit',
  'ratelimit-policy',
  'x-tollgate-dropped',
  'x-tollgate-upstream',
];

/** Reads a comma-separated list; a part that `item` refuses stops the process. */
const listOf = (item: z.ZodType<string, string>) =>
  z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    )
    .pipe(z.array(item));
const origin = z.union([
  z.literal('*'),
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && new URL(text).origin === text,
      'must be origins such as https://app.example, or *',
    ),
]);

export const configSchema = z.object({
  REDIS_URL: z
    .string()
    .min(1)
    .describe('Redis, Sentinel or Cluster that holds the live records, holds and the snapshot.'),
  REDIS_QUEUE_URL: z
    .string()
    .min(1)
    .optional()
    .describe('The same Redis as the user of the queue; REDIS_URL unless given.'),
  ENCRYPTION_KEY: encryptionKey.describe(
    '32 bytes, base64url: opens the sealed upstream keys of the snapshot.',
  ),
  ENCRYPTION_KEY_NEXT: encryptionKey
    .optional()
    .describe(
      'A second key that is read as well, while ENCRYPTION_KEY is changed on one process after the other.',
    ),
  NODE_CREDENTIAL: secret.describe("This node's credential, or the fleet's; proves its reports."),
  NODE_CREDENTIAL_FILE: z
    .string()
    .optional()
    .describe('File with NODE_CREDENTIAL, in place of that variable.'),
  METRICS_CREDENTIAL: secret
    .optional()
    .describe('What Prometheus presents to read /metrics; NODE_CREDENTIAL unless given.'),
  METRICS_MODELS_MAX: count(100).describe(
    'Models with metrics of their own; requests to further ones are counted together as _other.',
  ),
  NODE_NAME: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/,
      'must be up to 120 letters, digits, dots, dashes and underscores',
    )
    .describe('Stable name of the node, unique in the fleet.'),
  DATA_DIR: z
    .string()
    .min(1)
    .describe('Folder for the journal and the last good snapshot; must survive a restart.'),
  HOST: z.string().default('127.0.0.1').describe('Address to listen on.'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8788).describe('Port to listen on.'),
  NODE_WORKER: z.coerce
    .number()
    .int()
    .min(0)
    .max(999)
    .default(0)
    .describe('Index of this process within the node; with several workers, of the first.'),
  WORKERS: z
    .union([z.literal('auto'), z.coerce.number().int().min(1).max(512)])
    .default(1)
    .describe(
      'Processes that serve behind the one port, each with its own journal; auto = one a core.',
    ),
  PUBLIC_URL: z
    .url()
    .optional()
    .describe('Address at which clients reach this node directly, as shown to administrators.'),
  CONTROL_PLANE_URL: z
    .url()
    .optional()
    .describe('Where the journal is handed over when Redis has lost its data.'),
  SHARDS: count(64).describe('Redis shards; fixed for the life of an installation.'),
  UPSTREAM_ALLOW_PRIVATE: z
    .string()
    .default('')
    .describe('CIDR list of private ranges upstreams may live in; empty = public addresses only.'),
  TRUSTED_PROXIES: z
    .string()
    .default('')
    .describe(
      'CIDR list of proxies whose X-Forwarded-For is believed; empty = the peer is the caller.',
    ),
  CORS_ORIGINS: listOf(origin)
    .default([])
    .describe(
      'Origins whose pages may call /v1 from a browser, comma-separated, or *; empty = none. A page that calls the gateway shows its key to its users.',
    ),
  CORS_EXPOSED_HEADERS: listOf(z.string().regex(/^[\w-]+$/, 'must be names of headers'))
    .default([...CORS_EXPOSED_DEFAULT])
    .describe('Headers of an answer that such pages may read, comma-separated.'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('Least level that is logged.'),
  ACCESS_LOG: z
    .enum(['on', 'off'])
    .default('off')
    .describe('on: one line a request in the log, at level info.'),
  ERROR_EXCERPTS: z
    .enum(['on', 'off'])
    .default('off')
    .describe(
      'on: administrators see the first 1 KB of what an upstream answered in place of an answer, for 7 days. It may quote what a customer wrote.',
    ),
  ...TRACES_SETTINGS,

  BODY_BYTES_MAX: count(32 * 1024 * 1024).describe(
    'Largest request body, before and after decoding; a larger one is 413 before it is parsed.',
  ),
  HEADER_BYTES_MAX: count(32 * 1024).describe('Largest request header block.'),
  HEADER_TIMEOUT_MS: count(10_000).describe(
    'Time a client has to send its headers; cuts slow-loris connections.',
  ),
  BODY_TIMEOUT_MS: count(60_000).describe('Time a client has to send a whole request.'),
  CLIENT_STALL_TIMEOUT_MS: count(60_000).describe(
    'A client that reads nothing for this long is cut, so that it cannot pin an upstream stream.',
  ),
  CONCURRENCY_PER_SUBSCRIPTION_MAX: count(1_000).describe(
    'Open requests of one subscription across the fleet.',
  ),
  FAIL_OPEN_TOKENS: z.coerce
    .number()
    .int()
    .min(0)
    .default(0)
    .describe(
      'While Redis is away: charged tokens a subscription may still use of this node, if it was served a moment ago with plenty left; shared by its workers. 0 = refuse (docs/reliability.md).',
    ),
  STREAM_SLICE_OUTPUT_TOKENS: count(4_096).describe(
    'Output tokens a stream holds at first and per extension.',
  ),
  HOLD_LEASE_MS: z.coerce
    .number()
    .int()
    .positive()
    .max(600_000)
    .default(60_000)
    .describe('A hold that is not renewed for this long is reaped; 600,000 at most.'),
  KEEP_ALIVE_MS: count(10_000).describe(
    'Silence after which a stream gets a keep-alive; clients and proxies give up after 15 s and more.',
  ),
  JSON_DRAIN_MS: count(120_000).describe(
    'A JSON answer whose client has disconnected is read for this long, so that the charge is what its provider reports.',
  ),
  STREAM_DRAIN_MS: count(30_000).describe(
    'A stream whose client has disconnected is read for this long, unless closing it stops the provider from billing it.',
  ),
  STREAM_DRAIN_TOKENS: count(4_096).describe(
    'A stream whose client has disconnected is read for at most this many more output tokens.',
  ),
  ATTEMPTS_MAX: count(3).describe('Upstreams tried for one request.'),
  ANSWER_BYTES_MAX: count(64 * 1024 * 1024).describe(
    'Largest upstream answer after decoding; caps compression bombs.',
  ),
  ERROR_BYTES_MAX: count(64 * 1024).describe('Bytes read of an upstream error body.'),
  BACKGROUND_MS_MAX: z.coerce
    .number()
    .int()
    .min(1_000)
    .max(86_400_000)
    .default(7_200_000)
    .describe(
      'A response in the background that is not over after this is cancelled at its upstream; its tokens are held until then.',
    ),
  BACKGROUND_POLL_MS: count(10_000).describe(
    'Longest pause between two looks at a response in the background.',
  ),
  RECHARGE_WAIT_MS: z.coerce
    .number()
    .int()
    .min(0)
    .max(10_000)
    .default(2_000)
    .describe(
      'A request or a stream waits this long for a purchase of auto-recharge that is due; 0 = not at all.',
    ),
  RECHARGE_WAITERS_MAX: count(256).describe(
    'Requests that wait for a purchase at once; one subscription has a quarter of them. More are refused with 429 at once.',
  ),
  DENY_CACHE_MAX: count(10_000).describe(
    'Keys whose rate denial is remembered, at most 1 s, to keep a 429 storm off Redis.',
  ),
  SNAPSHOT_PULL_MS: count(5_000).describe(
    'Period of the pull that heals a missed snapshot message.',
  ),
  REPORT_MS: count(2_000).describe('Period of the report to the fleet.'),
  DRAIN_NOTICE_MS: z.coerce
    .number()
    .int()
    .min(0)
    .max(600_000)
    .default(0)
    .describe(
      'After SIGTERM the node is not ready, but serves for so long: longer than what stands before it takes to ask /readyz three times.',
    ),
  DRAIN_TIMEOUT_MS: count(30_000).describe('Time running requests have to finish after SIGTERM.'),
});
export type Config = Readonly<z.infer<typeof configSchema>>;

export function workerCount({ WORKERS }: Pick<Config, 'WORKERS'>): number {
  return WORKERS === 'auto' ? availableParallelism() : WORKERS;
}

/** Throws an Error that names each wrong variable, never its value. */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const read = parseEnvironment(configSchema, withCredential(environment));
  if ('data' in read) return read.data;
  throw new Error(
    `configuration is invalid\n${read.problems.map((line) => `  ${line}`).join('\n')}`,
  );
}

/** Reads the credential from its file, when one is named. Throws an Error that says what to put there. */
function withCredential(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { NODE_CREDENTIAL_FILE: file, NODE_NAME: name } = environment;
  if (!file) return environment;
  try {
    return { ...environment, NODE_CREDENTIAL: readFileSync(file, 'utf8').trim() };
  } catch (error) {
    throw new Error(
      `configuration is invalid\n  NODE_CREDENTIAL_FILE: ${file} cannot be read. Fix: write the credential of node ${name} there; on Kubernetes it is the key ${name} of the Secret that nodeCredentialsSecretName names.`,
      { cause: error },
    );
  }
}
