import type { FundsHint } from '@tollgate/contracts';
import type { OpenHold } from '../../../apps/proxy-node/src/journal/open-hold.ts';

/** Holds what really happened to a request; only the simulation knows it. */
export interface TrueRequest {
  readonly hold: OpenHold;
  /** Counts charged tokens of all that the client received. */
  delivered: number;
  /** Holds what the node wrote down as the request's charge; null while it runs, or when its node died under it. */
  charge: number | null;
  hasClientSeenEnd: boolean;
  endedAtMs: number;
  /** Is the address of the worker that served it to its end. */
  node: string;
  /** Is the reason for a lower charge: its final was lost in a way that the product's documents allow. */
  excuse: string | null;
}

export class Truth {
  readonly requests = new Map<string, TrueRequest>();
  /** Holds every request for which a worker asked for a hold. It may have got one and not lived to learn of it. */
  readonly asked = new Set<string>();
  /** Counts requests that waited for a purchase, by how that ended. */
  readonly waits = { answered: 0, refused: 0 };
  /** Is the most that a request of a subscription (account and model) said it needs at the least. */
  readonly needs = new Map<string, number>();
  /** Holds the charged tokens booked in PostgreSQL by request and number of the event. */
  readonly #booked = new Map<string, Map<number, number>>();

  admitted(hold: OpenHold): TrueRequest {
    const request: TrueRequest = {
      hold,
      delivered: 0,
      charge: null,
      hasClientSeenEnd: false,
      endedAtMs: 0,
      node: '',
      excuse: null,
    };
    this.requests.set(hold.rid, request);
    return request;
  }

  waited(how: keyof Truth['waits']): void {
    this.waits[how] += 1;
  }

  needed({ accountId, modelId, neededTokens }: FundsHint): void {
    const name = `${accountId}:${modelId}`;
    this.needs.set(name, Math.max(neededTokens, this.needs.get(name) ?? 0));
  }

  /** Is true when the first charge of a request is booked. */
  isCharged(rid: string): boolean {
    return this.#booked.get(rid)?.has(0) ?? false;
  }

  book({ rid, seq, delta }: { rid: string; seq: number; delta: number }): void {
    const booked = this.#booked.get(rid) ?? new Map<number, number>();
    this.#booked.set(rid, booked.set(seq, (booked.get(seq) ?? 0) + delta));
  }

  bookedFor(rid: string): number {
    return [...(this.#booked.get(rid)?.values() ?? [])].reduce((sum, n) => sum + n, 0);
  }
}
