/** Where Redis is, from REDIS_URL. */
export type RedisTarget =
  | { kind: 'single'; url: string }
  | { kind: 'cluster'; nodes: RedisAddress[]; credentials: RedisCredentials; isTls: boolean }
  | {
      kind: 'sentinel';
      sentinels: RedisAddress[];
      master: string;
      credentials: RedisCredentials;
      isTls: boolean;
    };

export interface RedisAddress {
  host: string;
  port: number;
}
export interface RedisCredentials {
  username?: string;
  password?: string;
}

const FORM = /^(redis|rediss)-(cluster|sentinel):\/\/(?:([^@/]*)@)?([^/?]+)(?:\/([^/?]*))?$/;
const DEFAULT_PORTS = { cluster: 6379, sentinel: 26379 } as const;

/**
 * `redis://…` and `rediss://…` (one server), `redis-cluster://[user:password@]h1:p,h2:p`, `redis-sentinel://[user:password@]h1:p,h2:p/<master name>`;
 * `rediss-cluster` and `rediss-sentinel` for TLS. Throws an Error that shows no password.
 */
export function parseRedisUrl(url: string): RedisTarget {
  if (/^rediss?:\/\//.test(url)) {
    if (!URL.canParse(url)) throw new Error('REDIS_URL is not a URL');
    return { kind: 'single', url };
  }
  const [, scheme, kind, userinfo, hosts = '', path] = FORM.exec(url) ?? [];
  if (kind !== 'cluster' && kind !== 'sentinel')
    throw new Error(
      'REDIS_URL must start with redis://, rediss://, redis-cluster:// or redis-sentinel://',
    );
  const addresses = hosts.split(',').map((host) => parseAddress(host, DEFAULT_PORTS[kind]));
  const shared = { credentials: parseCredentials(userinfo), isTls: scheme === 'rediss' };
  if (kind === 'cluster') return { kind, nodes: addresses, ...shared };
  if (!path) throw new Error('REDIS_URL of kind redis-sentinel must end with /<master name>');
  return { kind, sentinels: addresses, master: decodeURIComponent(path), ...shared };
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
