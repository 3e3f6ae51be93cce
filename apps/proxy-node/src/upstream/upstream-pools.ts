import {
  readSecret,
  type OutboundPolicy,
  type SecretPlace,
  type UpstreamAuth,
} from '@tollgate/contracts';
import type { ServedUpstream } from '../snapshot/routing-index.ts';
import { Client, Pool, type Dispatcher } from 'undici';
import { guardedConnector } from './guarded-connector.ts';
import { credentialKey, type CredentialRef, type Identified } from './identity/provider-tokens.ts';
import { ProviderClock } from './identity/provider-clock.ts';

/**
 * Describes an upstream that is ready for calls: its connections, and its credential in plain text, which leaves this process only in the upstream's
 * own requests.
 */
export interface OpenUpstream {
  readonly pool: Pool;
  /** Sends one request on a new connection of its own, because the kept ones may all be stale. */
  readonly dispatchAnew: (
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ) => void;
  readonly origin: string;
  /** Is the path of base_url, which precedes an exchange's path. */
  readonly pathPrefix: string;
  readonly auth: UpstreamAuth | null;
  /** Returns the current provider token of an identity that has one. */
  readonly token: () => string | null;
  /** Is the clock whose time signatures contain. */
  readonly clock: ProviderClock;
  readonly headers: Readonly<Record<string, string>>;
}

interface Entry extends OpenUpstream {
  readonly fingerprint: string;
}

/** Keeps one connection pool per upstream and credential. A changed upstream gets a new pool, and the old one finishes its requests. */
export class UpstreamPools {
  readonly #entries = new Map<string, Entry>();
  readonly #policy: OutboundPolicy;
  readonly #openSecret: (sealed: string, place: SecretPlace) => string;
  readonly #tokenOf: (upstream: CredentialRef) => string | null;

  constructor({
    policy,
    openSecret,
    tokenOf = () => null,
  }: {
    policy: OutboundPolicy;
    openSecret: (sealed: string, place: SecretPlace) => string;
    tokenOf?: (upstream: CredentialRef) => string | null;
  }) {
    this.#policy = policy;
    this.#openSecret = openSecret;
    this.#tokenOf = tokenOf;
  }

  /** Throws when the sealed key cannot be opened. */
  open(upstream: ServedUpstream): OpenUpstream {
    const key = credentialKey(upstream);
    const known = this.#entries.get(key);
    if (known && known.fingerprint === fingerprintOf(upstream)) return known;
    const entry = this.#create(upstream);
    this.#entries.set(key, entry);
    if (known) void known.pool.close();
    return entry;
  }

  /** Returns the upstreams whose credential can be opened, with the credential. */
  identified(upstreams: readonly ServedUpstream[]): Identified[] {
    return upstreams.flatMap((upstream) => {
      try {
        const { id, credentialId, base_url: baseUrl } = upstream;
        return { ...{ id, credentialId, baseUrl }, auth: this.open(upstream).auth };
      } catch {
        // Requests to it will fail and report the problem.
        return [];
      }
    });
  }

  /** Returns by how much this machine's clock is ahead of each provider that gets signatures. */
  get clocksAheadMs(): number[] {
    return [...this.#entries.values()].map(({ clock }) => clock.aheadMs);
  }

  retain(upstreams: readonly ServedUpstream[]): void {
    const kept = new Set(upstreams.map(credentialKey));
    for (const [key, entry] of this.#entries) {
      if (kept.has(key)) continue;
      this.#entries.delete(key);
      void entry.pool.close();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.values()].map((entry) => entry.pool.destroy()));
  }

  #authOf({
    id,
    credentialId = 0,
    base_url: baseUrl,
    sealed_api_key: sealed,
  }: ServedUpstream): UpstreamAuth | null {
    return sealed === null
      ? null
      : readSecret(this.#openSecret(sealed, { upstreamId: id, credentialId, baseUrl }));
  }

  #create(upstream: ServedUpstream): Entry {
    const url = new URL(upstream.base_url);
    const options = {
      connect: guardedConnector({
        policy: this.#policy,
        connectTimeoutMs: upstream.connect_timeout_ms,
      }),
      pipelining: 1,
      // UpstreamCall enforces the deadlines, because it can distinguish a slow client from a slow upstream.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    return {
      fingerprint: fingerprintOf(upstream),
      pool: new Pool(url.origin, options),
      dispatchAnew: (request, handler) => {
        const client = new Client(url.origin, options);
        client.dispatch(request, handler);
        // The connection closes itself after the answer or an abort.
        client.close().catch(() => undefined);
      },
      origin: url.origin,
      pathPrefix: url.pathname.replace(/\/+$/, ''),
      auth: this.#authOf(upstream),
      token: () => this.#tokenOf(upstream),
      clock: new ProviderClock(),
      headers: upstream.headers,
    };
  }
}

const fingerprints = new WeakMap<ServedUpstream, string>();

/** Snapshots are immutable, so an upstream object's fingerprint is computed once. */
function fingerprintOf(upstream: ServedUpstream): string {
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
