import type { BudgetExceeded } from '@tollgate/keyspace';
import type { Logger } from 'pino';
import type { Asking, IncidentLog } from './incident-log.ts';

/** Says what a budget counts: all requests of a key or account, or each of its sessions or end users. */
export interface SpentBudget {
  readonly unit: BudgetExceeded['unit'];
  readonly scope: NonNullable<BudgetExceeded['scope']> | 'all';
}

/** Describes a request that was answered with an error before its first byte. */
export interface Refused {
  readonly rid: string;
  /** Holds the ids of the request's trace, if it has one. */
  readonly ids: { trace_id?: string; span_id?: string };
  /** Is the caller's own id of the request. */
  readonly callerId: string | null;
  readonly status: number;
  /** Is the code that a chat client reads (docs/errors.md). */
  readonly code: string;
  /** Is the text that the client got. */
  readonly message: string;
  /** Is null for an admitted request, whose usage says how it ended. */
  readonly asking: Asking | null;
  /** Names the model without a route, when that is the reason. */
  readonly about: string | null;
  /** Is the budget that did not cover the request, when that is the reason. */
  readonly budget: SpentBudget | null;
}
type Counted = Pick<Refused, 'status' | 'code' | 'budget'>;

/** A model without a route is logged once in this time, however many requests ask for it. */
const REPEAT_MS = 60_000;

/**
 * Records refused requests: counted by status and code, logged by id at level debug, and listed among the incidents. A refusal that the operator must
 * fix is a warning.
 */
export class RefusalLog {
  readonly #log: Logger;
  readonly #count: (refused: Counted) => void;
  readonly #incidents: Pick<IncidentLog, 'refused'>;
  readonly #now: () => number;
  /** Maps models to the time of their last warning; it has at most one entry per model that was ever without a route. */
  readonly #warnedAtMs = new Map<string, number>();

  constructor({
    log,
    count,
    incidents,
    now,
  }: {
    log: Logger;
    count: (refused: Counted) => void;
    incidents: Pick<IncidentLog, 'refused'>;
    now: () => number;
  }) {
    this.#log = log;
    this.#count = count;
    this.#incidents = incidents;
    this.#now = now;
  }

  note({ rid, ids, callerId, status, code, message, asking, about, budget }: Refused): void {
    this.#count({ status, code, budget });
    if (asking !== null) this.#incidents.refused({ rid, status, code, message, ...asking });
    this.#log.debug({ rid, caller_id: callerId, ...ids, status, code }, 'a request was refused');
    if (about !== null) this.#warn(about);
  }

  #warn(model: string): void {
    const nowMs = this.#now();
    if (nowMs - (this.#warnedAtMs.get(model) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return;
    this.#warnedAtMs.set(model, nowMs);
    this.#log.warn(
      { model },
      'a model that is on the shelf has no enabled route: its requests are refused',
    );
  }
}
