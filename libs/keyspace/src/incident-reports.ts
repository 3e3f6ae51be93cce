import type { IncidentUpload } from '@tollgate/contracts';
import type { RedisConnection } from './connection/redis-connection.ts';
import { keys } from './keys.ts';

/** Bounds the reports that wait for a control plane: some 30 MB, were all of them full. */
const WAITING_MAX = 256;

/** Carries what nodes report of incidents to a control plane. */
export class IncidentReports {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** The oldest reports give way where no control plane takes them. */
  async write({ node, atMs, body, proof }: IncidentUpload): Promise<void> {
    const fields = ['node', node, 'at', String(atMs), 'body', body, 'proof', proof];
    await this.#redis.xadd(keys.incidents, 'MAXLEN', WAITING_MAX, '*', ...fields);
  }

  /** Takes up to so many reports out of Redis, the oldest first; none is given to two callers. They are not judged yet; see `isUploadProven`. */
  async take(reportsMax: number): Promise<IncidentUpload[]> {
    const entries = await this.#redis.xrange(keys.incidents, '-', '+', 'COUNT', reportsMax);
    const taken = await Promise.all(entries.map(([id]) => this.#redis.xdel(keys.incidents, id)));
    return entries.flatMap(([, fields], index) =>
      taken[index] === 1 ? (uploadOf(fields) ?? []) : [],
    );
  }
}

/** Returns undefined for what another program wrote. */
function uploadOf(fields: readonly string[]): IncidentUpload | undefined {
  const [, node, , at, , body, , proof] = fields;
  if (node === undefined || at === undefined || body === undefined || proof === undefined)
    return undefined;
  return { node, atMs: Number(at), body, proof };
}
