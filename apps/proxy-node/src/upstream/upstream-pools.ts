import {
  readSecret,
  type OutboundPolicy,
  type SecretPlace,
  type UpstreamAuth,
} from '@tollgate/contracts';
import type { SnapshotUpstream } from '@tollgate/snapshot';
import { Client, Pool, type Dispatcher } from 'undici';
import { guardedConnector } from './guarded-connector.ts';

/** An upstream ready to be called: its connections, and its credential in the clear, which never leaves this process but in its own request. */
export interface OpenUpstream {
  readonly pool: Pool;
  /** Sends one request on a connection of its own, made now: the kept ones may all have gone stale together. */
  readonly dispatchAnew: (
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ) => void;
  readonly origin: string;
  /** Path of base_url, to be put before an exchange's path. */
  readonly pathPrefix: string;
  readonly auth: UpstreamAuth | null;
  readonly headers: Readonly<Record<string, string>>;
}

interface Entry extends OpenUpstream {
  readonly fingerprint: string;
}

/** Keeps one connection pool an upstream; a changed upstream gets a new pool while the old one finishes what it has. */
export class UpstreamPools {
  readonly #entries = new Map<number, Entry>();
  readonly #policy: OutboundPolicy;
  readonly #openSecret: (sealed: string, place: SecretPlace) => string;

  constructor({
    policy,
    openSecret,
  }: {
    policy: OutboundPolicy;
    openSecret: (sealed: string, place: SecretPlace) => string;
  }) {
    this.#policy = policy;
    this.#openSecret = openSecret;
  }

  /** Throws when the sealed key cannot be opened. */
  open(upstream: SnapshotUpstream): OpenUpstream {
    const known = this.#entries.get(upstream.id);
    if (known && known.fingerprint === fingerprintOf(upstream)) return known;
    const entry = this.#create(upstream);
    this.#entries.set(upstream.id, entry);
    if (known) void known.pool.close();
    return entry;
  }

  retain(upstreamIds: ReadonlySet<number>): void {
    for (const [id, entry] of this.#entries) {
      if (upstreamIds.has(id)) continue;
      this.#entries.delete(id);
      void entry.pool.close();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.values()].map((entry) => entry.pool.destroy()));
  }

  #authOf({
    id,
    base_url: baseUrl,
    sealed_api_key: sealed,
  }: SnapshotUpstream): UpstreamAuth | null {
    return sealed === null
      ? null
      : readSecret(this.#openSecret(sealed, { upstreamId: id, baseUrl }));
  }

  #create(upstream: SnapshotUpstream): Entry {
    const url = new URL(upstream.base_url);
    const options = {
      connect: guardedConnector({
        policy: this.#policy,
        connectTimeoutMs: upstream.connect_timeout_ms,
      }),
      pipelining: 1,
      // Deadlines are kept by UpstreamCall, which knows a slow client from a slow upstream.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    return {
      fingerprint: fingerprintOf(upstream),
      pool: new Pool(url.origin, options),
      dispatchAnew: (request, handler) => {
        const client = new Client(url.origin, options);
        client.dispatch(request, handler);
        // It ends by itself once the answer has come or the call was aborted.
        client.close().catch(() => undefined);
      },
      origin: url.origin,
      pathPrefix: url.pathname.replace(/\/+$/, ''),
      auth: this.#authOf(upstream),
      headers: upstream.headers,
    };
  }
}

const fingerprints = new WeakMap<SnapshotUpstream, string>();

/** Snapshots are immutable, so an upstream object's fingerprint is computed once. */
function fingerprintOf(upstream: SnapshotUpstream): string {
  let text = fingerprints.get(upstream);
  if (text === undefined)
    fingerprints.set(
      upstream,
      (text = JSON.stringify([
        upstream.base_url,
        upstream.sealed_api_key,
        upstream.headers,
        upstream.connect_timeout_ms,
      ])),
    );
  return text;
}
