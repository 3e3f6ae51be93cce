import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../checkout.ts';

/**
 * Holds the rights of Redis' users besides its operator (`default`), in one file for every way of starting Redis.
 * A node's rights are those of the functions it calls, which run with them; none may load code but the control plane.
 */
const USERS_FILE = path.join(ROOT, 'deploy', 'redis', 'users.acl');

const PASSWORD_OF = {
  'control-plane': 'REDIS_CONTROL_PLANE_PASSWORD',
  node: 'REDIS_NODE_PASSWORD',
  bullmq: 'REDIS_QUEUE_PASSWORD',
} as const;
type RedisUser = keyof typeof PASSWORD_OF;

/** Holds REDIS_URL as each user has it. */
export interface RedisUrls {
  controlPlane: string;
  node: string;
  /** Is REDIS_QUEUE_URL of both kinds of process. */
  queue: string;
}

/** Writes lines of redis.conf. The users' passwords are derived from the operator's, which cannot be found out from them. */
export function redisUserLines(operatorPassword: string): string[] {
  const text = Object.entries(PASSWORD_OF).reduce(
    (lines, [user, variable]) =>
      lines.replaceAll(`\${${variable}}`, passwordOf(user, operatorPassword)),
    readFileSync(USERS_FILE, 'utf8'),
  );
  return text.split('\n').filter((line) => line !== '');
}

/** Returns the addresses of a Redis that was started with `redisUserLines`; `url` is the operator's. */
export function redisUrlsOf(url: string, operatorPassword: string): RedisUrls {
  const as = (user: RedisUser): string =>
    url.replace(/\/\/[^@/]*@/, `//${user}:${passwordOf(user, operatorPassword)}@`);
  return { controlPlane: as('control-plane'), node: as('node'), queue: as('bullmq') };
}

/** Returns the addresses of an external Redis, which has the one user that the address names. */
export function sameRedisUrl(url: string): RedisUrls {
  return { controlPlane: url, node: url, queue: url };
}

function passwordOf(user: string, operatorPassword: string): string {
  return createHmac('sha256', operatorPassword).update(`redis user ${user}`).digest('base64url');
}
