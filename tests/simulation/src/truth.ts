import type { OpenHold } from '../../../apps/proxy-node/src/journal/open-hold.ts';

/** What really happened to a request; only the simulation knows it. */
export interface TrueRequest {
  readonly hold: OpenHold;
  /** Charged tokens of all that the client received. */
  delivered: number;
  /** What the node wrote down as the request's charge; null while it runs, or when its node died under it. */
  charge: number | null;
  hasClientSeenEnd: boolean;
  endedAtMs: number;
  /** Address of the worker that served it to its end. */
  node: string;
  /** Why it may be charged less: its final was lost in a way the product's documents say it may be. */
  excuse: string | null;
  /** Charged tokens booked in PostgreSQL, by number of the event. */
  booked: Map<number, number>;
}

export class Truth {
  readonly requests = new Map<string, TrueRequest>();

  admitted(hold: OpenHold): TrueRequest {
    const request: TrueRequest = {
      hold,
      delivered: 0,
      charge: null,
      hasClientSeenEnd: false,
      endedAtMs: 0,
      node: '',
      excuse: null,
      booked: new Map(),
    };
    this.requests.set(hold.rid, request);
    return request;
  }

  bookedFor(rid: string): number {
    return [...(this.requests.get(rid)?.booked.values() ?? [])].reduce((sum, n) => sum + n, 0);
  }
}
