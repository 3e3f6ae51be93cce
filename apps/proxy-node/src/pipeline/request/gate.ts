import { Refusal, retryHeaders } from '../../refusals.ts';
import type { RoutingIndex } from '../../snapshot/routing-index.ts';

/** `unregistered`: the fleet has not decided yet. `removed`: it has no node of this name. `wrong_credential`: it has another credential for it. */
export type Closure =
  | 'draining'
  | 'stopped'
  | 'disabled'
  | 'unregistered'
  | 'removed'
  | 'wrong_credential';

const RETRY_MS = 5_000;
/** Envoy leaves out a node that answers so, asks another one, and does not count it when it decides whether too few are healthy. */
export const TAKES_NO_REQUESTS = { 'x-envoy-immediate-health-check-fail': 'true' };

/** Knows if this node takes requests, and how many it has. */
export class Gate {
  readonly #index: () => RoutingIndex | null;
  /** Until the fleet says otherwise a node is not part of it. */
  #closure: Closure | null = 'unregistered';
  #isLeaving = false;
  #isDraining = false;
  #inFlight = 0;
  #onIdle: (() => void) | null = null;

  constructor(index: () => RoutingIndex | null) {
    this.#index = index;
  }

  /** Returns the index by which requests are routed. Throws Refusal while the node takes none. */
  open(): RoutingIndex {
    const headers = { ...retryHeaders(RETRY_MS), ...TAKES_NO_REQUESTS };
    if (this.closure !== null) throw new Refusal('not_serving', { headers });
    const index = this.#index();
    if (!index) throw new Refusal('not_ready', { headers });
    return index;
  }

  get closure(): Closure | null {
    return this.#isDraining ? 'draining' : this.#closure;
  }

  get isReady(): boolean {
    return !this.#isLeaving && this.closure === null && this.#index() !== null;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Sets the closure that the fleet wants; null = serve. Requests in progress continue. */
  want(closure: Exclude<Closure, 'draining'> | null): void {
    this.#closure = closure;
  }

  enter(): void {
    this.#inFlight += 1;
  }

  leave(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.#onIdle?.();
  }

  /** Is not ready from now on, and takes requests still: what stands before the node learns of it first. */
  giveNotice(): void {
    this.#isLeaving = true;
  }

  /** Takes no more requests; resolves true when the last one has ended, false when `timeoutMs` is over first. */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#isDraining = true;
    if (this.#inFlight === 0) return true;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}
