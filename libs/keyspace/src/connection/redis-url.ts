import { readFileSync } from 'node:fs';

/** Holds the address of Redis, from REDIS_URL. */
export type RedisTarget =
  /** Has as `url` the address without the files of a client certificate, and with `redis:` when there are some: `tls` says the rest. */
  | { kind: 'single'; url: string; tls: RedisTls | null }
  | {
      kind: 'cluster';
      nodes: RedisAddress[];
      credentials: RedisCredentials;
      tls: RedisTls | null;
    }
  | {
      kind: 'sentinel';
      sentinels: RedisAddress[];
      master: string;
      credentials: RedisCredentials;
      tls: RedisTls | null;
    };

/** Holds the contents of the client certificate's files, PEM; empty without one. */
export interface RedisTls {
  cert?: string;
  key?: string;
}

export interface RedisAddress {
  host: string;
  port: number;
}
export interface RedisCredentials {
  username?: string;
  password?: string;
}

const FORM = /^(redis|rediss)-(cluster|sentinel):\/\/(?:([^@/]*)@)?([^/?]+)(?:\/([^/?]*))?$/;
const CLIENT_CERTIFICATE = ['sslcert', 'sslkey'] as const;
const DEFAULT_PORTS = { cluster: 6379, sentinel: 26379 } as const;

/**
 * Parses `redis://…` and `rediss://…` (one server), `redis-cluster://[user:password@]h1:p,h2:p`, `redis-sentinel://[user:password@]h1:p,h2:p/<master name>`;
 * `rediss-cluster` and `rediss-sentinel` for TLS, with `?sslcert=FILE&sslkey=FILE` for a client certificate, as PostgreSQL's URLs have it. Reads
 * the files. Throws an Error that shows no password.
 */
export function parseRedisUrl(whole: string): RedisTarget {
  const { url, files } = withoutFiles(whole);
  if (/^rediss?:\/\//.test(url)) {
    if (!URL.canParse(url)) throw new Error('REDIS_URL is not a URL');
    const tls = tlsOf(url, files);
    return { kind: 'single', url: files ? url.replace(/^rediss:/, 'redis:') : url, tls };
  }
  const [, , kind, userinfo, hosts = '', path] = FORM.exec(url) ?? [];
  if (kind !== 'cluster' && kind !== 'sentinel')
    throw new Error(
      'REDIS_URL must start with redis://, rediss://, redis-cluster:// or redis-sentinel://',
    );
  const addresses = hosts.split(',').map((host) => parseAddress(host, DEFAULT_PORTS[kind]));
  const shared = { credentials: parseCredentials(userinfo), tls: tlsOf(url, files) };
  if (kind === 'cluster') return { kind, nodes: addresses, ...shared };
  if (!path) throw new Error('REDIS_URL of kind redis-sentinel must end with /<master name>');
  return { kind, sentinels: addresses, master: decodeURIComponent(path), ...shared };
}

type Files = Record<(typeof CLIENT_CERTIFICATE)[number], string>;

/** Returns null without a client certificate; one file needs the other. */
function withoutFiles(whole: string): { url: string; files: Files | null } {
  const [address = '', query] = whole.split('?', 2);
  const parameters = new URLSearchParams(query);
  const [sslcert, sslkey] = CLIENT_CERTIFICATE.map((name) => parameters.get(name));
  if (!sslcert && !sslkey) return { url: whole, files: null };
  if (!sslcert || !sslkey)
    throw new Error('REDIS_URL needs both sslcert and sslkey for a client certificate');
  for (const name of CLIENT_CERTIFICATE) parameters.delete(name);
  const rest = parameters.size > 0 ? `?${parameters.toString()}` : '';
  return { url: `${address}${rest}`, files: { sslcert, sslkey } };
}

function tlsOf(url: string, files: Files | null): RedisTls | null {
  const isTls = url.startsWith('rediss');
  if (!files) return isTls ? {} : null;
  if (!isTls) throw new Error('REDIS_URL has a client certificate and needs rediss for TLS');
  return { cert: readPem('sslcert', files.sslcert), key: readPem('sslkey', files.sslkey) };
}

function readPem(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${name} of REDIS_URL cannot be read: ${String(error)}`, { cause: error });
  }
}

function parseAddress(text: string, defaultPort: number): RedisAddress {
  if (!URL.canParse(`redis://${text}`))
    throw new Error(`REDIS_URL names a host that cannot be read: ${JSON.stringify(text)}`);
  const { hostname, port } = new URL(`redis://${text}`);
  if (hostname === '') throw new Error('REDIS_URL names an empty host');
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) };
}

function parseCredentials(userinfo: string | undefined): RedisCredentials {
  if (!userinfo) return {};
  const [username = '', password = ''] = userinfo.split(':', 2).map(decodeURIComponent);
  return { ...(username && { username }), ...(password && { password }) };
}
