import { parseEnvironment, parseRanges } from '@tollgate/contracts';
import { z } from 'zod';

const urlList = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  )
  .pipe(z.array(z.url({ protocol: /^http$/ })).min(1));

/** Every environment variable the front door reads; docs/configuration.md is written from these descriptions. */
export const configSchema = z.object({
  CONTROL_PLANE_URL: z
    .url({ protocol: /^http$/ })
    .describe('Address of the control plane: gets everything but the proxy interface.'),
  PROXY_URLS: urlList.describe(
    'Addresses of the proxy nodes, comma-separated: a ready one gets /v1/*.',
  ),
  HOST: z.string().default('127.0.0.1').describe('Address to listen on.'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080).describe('Port to listen on.'),
  TRUSTED_PROXIES: z
    .string()
    .default('')
    .refine(isRangeList, 'must be a comma-separated list of addresses or CIDR ranges')
    .describe(
      'Addresses or CIDR ranges of the reverse proxies in front; only their X-Forwarded-For and X-Forwarded-Proto count. Empty: the peer address counts.',
    ),
  CONNECT_FROM: z
    .union([z.ipv4(), z.ipv6()])
    .optional()
    .describe(
      'Address of this host that connections to nodes and the control plane come from, so that they can trust it alone.',
    ),
  HEALTH_CHECK_MS: z.coerce
    .number()
    .int()
    .min(50)
    .default(500)
    .describe("Pause between two looks at a node's /readyz."),
  HEADER_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(1)
    .default(10_000)
    .describe('Time a client has to send its headers, as at a node.'),
  DRAIN_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(0)
    .default(8_000)
    .describe('Time running requests have to finish after SIGTERM.'),
});
export type Config = z.infer<typeof configSchema>;

function isRangeList(text: string): boolean {
  try {
    parseRanges(text);
    return true;
  } catch {
    return false;
  }
}

/** Throws an Error with one line per wrong variable. */
export function loadConfig(environment: NodeJS.ProcessEnv): Config {
  const read = parseEnvironment(configSchema, environment);
  if ('data' in read) return read.data;
  throw new Error(
    `The front door cannot start:\n${read.problems.map((line) => `  ${line}`).join('\n')}`,
  );
}
