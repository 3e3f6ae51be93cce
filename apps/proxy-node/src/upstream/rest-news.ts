import type { FleetMessage } from '@tollgate/contracts';
import type { RestBegun, RouteRef, UpstreamHealth } from './upstream-health.ts';

type RestMessage = Extract<FleetMessage, { kind: 'rest' | 'recovered' }>;

/** A shorter rest is over before its message is of use. */
const WORTH_TELLING_MS = 2_000;

/** Announces to the other workers of the fleet which routes fail and which have recovered, and receives their announcements. A lost announcement costs each worker a few failures. */
export class RestNews {
  readonly #announce: (message: FleetMessage) => void;
  readonly #by: string;

  /** `by`: address of this worker, so that it ignores its own messages. `announce` must not throw. */
  constructor({ announce, by }: { announce: (message: FleetMessage) => void; by: string }) {
    this.#announce = announce;
    this.#by = by;
  }

  rested({ routeId, restMs, isProviders, isRateLimit = false }: RestBegun): void {
    if (restMs < WORTH_TELLING_MS) return;
    this.#announce({
      kind: 'rest',
      by: this.#by,
      route_id: routeId,
      rest_ms: Math.ceil(restMs),
      is_providers: isProviders,
      is_rate_limit: isRateLimit,
    });
  }

  recovered({ routeId }: RouteRef): void {
    this.#announce({ kind: 'recovered', by: this.#by, route_id: routeId });
  }

  hear(message: RestMessage, health: UpstreamHealth, now: number): void {
    if (message.by === this.#by) return;
    if (message.kind === 'recovered') return health.heardRecovery(message.route_id, now);
    const { rest_ms: restMs, is_providers: isProviders, is_rate_limit: isRateLimit } = message;
    health.heardRest(message.route_id, { restMs, isProviders, isRateLimit }, now);
  }
}
