import type { FleetMessage } from '@tollgate/contracts';
import type { RestBegun, RouteRef, UpstreamHealth } from './upstream-health.ts';

export type RestMessage = Extract<
  FleetMessage,
  { kind: 'rest' | 'recovered' | 'account_rest' | 'account_recovered' }
>;

/** A shorter rest ends before its message is useful. */
const WORTH_TELLING_MS = 2_000;

/**
 * Announces to the other workers of the fleet which routes fail and which have recovered, and receives their announcements. A lost announcement costs
 * each worker a few failures.
 */
export class RestNews {
  readonly #announce: (message: FleetMessage) => void;
  readonly #by: string;

  /** `by` is the address of this worker, so that it ignores its own messages. `announce` must not throw. */
  constructor({ announce, by }: { announce: (message: FleetMessage) => void; by: string }) {
    this.#announce = announce;
    this.#by = by;
  }

  rested({
    routeId,
    credentialId,
    accountId,
    restMs,
    isProviders,
    isRateLimit = false,
  }: RestBegun): void {
    if (restMs < WORTH_TELLING_MS) return;
    const rest = {
      by: this.#by,
      route_id: routeId,
      ...(credentialId !== undefined && { credential_id: credentialId }),
      rest_ms: Math.ceil(restMs),
      is_providers: isProviders,
      is_rate_limit: isRateLimit,
    };
    this.#announce(
      accountId === null
        ? { kind: 'rest', ...rest }
        : { kind: 'account_rest', account_id: accountId, ...rest },
    );
  }

  recovered({ routeId, credentialId, accountId }: RouteRef & { accountId: number | null }): void {
    const recovered = {
      by: this.#by,
      route_id: routeId,
      ...(credentialId !== undefined && { credential_id: credentialId }),
    };
    this.#announce(
      accountId === null
        ? { kind: 'recovered', ...recovered }
        : { kind: 'account_recovered', account_id: accountId, ...recovered },
    );
  }

  hear(message: RestMessage, health: UpstreamHealth, now: number): void {
    if (message.by === this.#by) return;
    const of = { routeId: message.route_id, credentialId: message.credential_id };
    const accountId = 'account_id' in message ? message.account_id : null;
    if (message.kind === 'recovered' || message.kind === 'account_recovered')
      return health.heardRecovery(of, accountId, now);
    const { rest_ms: restMs, is_providers: isProviders, is_rate_limit: isRateLimit } = message;
    const rest = { restMs, isProviders, isRateLimit };
    health.heardRest(of, accountId, { rest, now });
  }
}
