import { setTimeout as delay } from 'node:timers/promises';
import { isTokenAuth, secretOf, type TokenAuth, type UpstreamAuth } from '@tollgate/contracts';
import { readToken, tokenRequest, type TokenRequest } from '@tollgate/protocols';
import type { Logger } from 'pino';
import { ProviderClock } from './provider-clock.ts';

/** A token is renewed this long before it expires, or at half its lifetime when that is shorter. */
const RENEW_MS = 5 * 60_000;
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 60_000;
const LOOK_MS = 500;

export interface TokenAnswer {
  readonly status: number;
  readonly body: string;
  readonly date: string | undefined;
}

/** Names an upstream, and one of its credentials. */
export interface CredentialRef {
  readonly id: number;
  /** Absent where the upstream has one. */
  readonly credentialId?: number | undefined;
}

export function credentialKey({ id, credentialId = 0 }: CredentialRef): string {
  return `${id}/${credentialId}`;
}

/** Describes an upstream with the credential that it is called with. */
export interface Identified extends CredentialRef {
  readonly baseUrl: string;
  readonly auth: UpstreamAuth | null;
}

interface ProviderTokensParts {
  /** Sends a request through the guarded client. */
  readonly ask: (request: TokenRequest) => Promise<TokenAnswer>;
  /** Returns the ms of a monotonic clock. */
  readonly now: () => number;
  readonly unixMs?: () => number;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** Describes one identity, which several upstreams may share. */
interface Identity {
  readonly auth: TokenAuth;
  readonly baseUrl: string;
  readonly clock: ProviderClock;
  readonly upstreamIds: Set<number>;
  token: string | null;
  expiresAt: number;
  /** Is the time of the next fetch. */
  dueAt: number;
  failures: number;
  /** Is the running fetch; there is at most one. */
  fetching: Promise<void> | null;
}

/** Keeps the provider tokens of identities. It fetches each before it expires, off the path of the requests that carry it. */
export class ProviderTokens {
  readonly #parts: ProviderTokensParts;
  readonly #identities = new Map<string, Identity>();
  readonly #byUpstream = new Map<string, Identified & { identity: Identity }>();
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: ProviderTokensParts) {
    this.#parts = parts;
  }

  /** Takes the upstreams of a new snapshot: it fetches missing tokens and removes those of other upstreams. */
  retain(upstreams: readonly Identified[]): void {
    this.#byUpstream.clear();
    for (const identity of this.#identities.values()) identity.upstreamIds.clear();
    for (const each of upstreams) {
      const { id, baseUrl, auth } = each;
      if (auth === null || !isTokenAuth(auth)) continue;
      const identity = this.#identityOf(auth, baseUrl);
      identity.upstreamIds.add(id);
      this.#byUpstream.set(credentialKey(each), { ...each, identity });
    }
    for (const [key, { upstreamIds }] of this.#identities)
      if (upstreamIds.size === 0) this.#identities.delete(key);
    this.#look();
    if (this.#identities.size > 0) this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#identities.clear();
    this.#byUpstream.clear();
  }

  /** Resolves when each identity has its first token or has failed to get one, or when the time is over. */
  async settled(timeoutMs: number): Promise<void> {
    const fetches = [...this.#identities.values()].flatMap(({ fetching }) => fetching ?? []);
    if (fetches.length > 0)
      await Promise.race([Promise.all(fetches), delay(timeoutMs, undefined, { ref: false })]);
  }

  /** Returns the token of an upstream; null when it has no valid one. */
  tokenOf(upstream: CredentialRef): string | null {
    const identity = this.#byUpstream.get(credentialKey(upstream))?.identity;
    return identity && identity.expiresAt > this.#parts.now() ? identity.token : null;
  }

  /** Returns the ms until an upstream without a valid token may have one; 0 for every other. */
  waitMs(upstream: CredentialRef, now: number): number {
    if (this.#byUpstream.size === 0) return 0;
    const identity = this.#byUpstream.get(credentialKey(upstream))?.identity;
    if (!identity || identity.expiresAt > now) return 0;
    return Math.max(identity.dueAt - now, RETRY_MS);
  }

  /** Returns the upstreams without a valid token, with the number of consecutive failed fetches. */
  missing(now: number): (CredentialRef & { failures_in_row: number; open_for_ms: number })[] {
    return [...this.#byUpstream.values()].flatMap((each) => {
      const { id, credentialId } = each;
      const { failures } = each.identity;
      const open_for_ms = Math.ceil(this.waitMs(each, now));
      return open_for_ms > 0 && failures > 0
        ? [
            {
              ...(credentialId !== undefined && { credentialId }),
              id,
              failures_in_row: failures,
              open_for_ms,
            },
          ]
        : [];
    });
  }

  /** Is the largest difference from a token host's clock; 0 while the clocks agree. */
  get clockAheadMs(): number {
    return largestOf([...this.#identities.values()].map(({ clock }) => clock.aheadMs));
  }

  #identityOf(auth: TokenAuth, baseUrl: string): Identity {
    const key = JSON.stringify([secretOf(auth), new URL(baseUrl).origin]);
    let identity = this.#identities.get(key);
    if (!identity) {
      identity = {
        auth,
        baseUrl,
        clock: new ProviderClock(this.#parts.unixMs),
        upstreamIds: new Set(),
        token: null,
        expiresAt: Number.NEGATIVE_INFINITY,
        dueAt: Number.NEGATIVE_INFINITY,
        failures: 0,
        fetching: null,
      };
      this.#identities.set(key, identity);
    }
    return identity;
  }

  #look(): void {
    const now = this.#parts.now();
    for (const identity of this.#identities.values())
      if (identity.fetching === null && identity.dueAt <= now)
        identity.fetching = this.#fetch(identity).finally(() => (identity.fetching = null));
  }

  /** Fetches a token; it never rejects. */
  async #fetch(identity: Identity): Promise<void> {
    const { auth, baseUrl, clock } = identity;
    try {
      const request = tokenRequest(auth, { baseUrl, nowMs: clock.nowMs() });
      const askedAt = this.#parts.now();
      const answer = await this.#parts.ask(request);
      const wasOff = clock.learn(answer.date);
      const read = readToken(auth, request, answer);
      if ('refusal' in read) return this.#failed(identity, read.refusal, wasOff);
      identity.token = read.token;
      identity.expiresAt = askedAt + read.lifeMs;
      identity.dueAt = identity.expiresAt - Math.min(RENEW_MS, read.lifeMs / 2);
      if (identity.failures > 0)
        this.#parts.log.info(
          { upstream_ids: [...identity.upstreamIds] },
          'a token was fetched again',
        );
      identity.failures = 0;
    } catch (error) {
      const { code, name } = Object(error);
      this.#failed(identity, `the token host cannot be reached (${code ?? name})`, false);
    }
  }

  /** An assertion with a wrong time is made again at once. */
  #failed(identity: Identity, reason: string, wasOff: boolean): void {
    const waitMs = Math.min(RETRY_MS * 2 ** identity.failures, RETRY_MS_MAX);
    identity.dueAt = wasOff ? Number.NEGATIVE_INFINITY : this.#parts.now() + waitMs;
    identity.failures += 1;
    // Only the first failure is logged; the others repeat it.
    if (identity.failures === 1)
      this.#parts.log.warn(
        { upstream_ids: [...identity.upstreamIds], reason },
        'no provider token can be fetched; routes to these upstreams rest once the last one has expired',
      );
  }
}

/** Returns the offset that is furthest from 0. */
export function largestOf(offsets: readonly number[]): number {
  return offsets.reduce((most, each) => (Math.abs(each) > Math.abs(most) ? each : most), 0);
}
