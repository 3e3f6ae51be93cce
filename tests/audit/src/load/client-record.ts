import type { RequestPlan } from './plan-requests.ts';

/** Holds what a client remembers of its request. */
export interface ClientRecord {
  plan: RequestPlan;
  /** Comes from the response header; null when none arrived. */
  rid: string | null;
  status: number | null;
  /** Is `completed` when the whole answer arrived, `hung_up` by the client, `refused` for a status other than 200, `broken` when the answer ended by itself, `unreached` when there was none. */
  ending: 'completed' | 'hung_up' | 'refused' | 'broken' | 'unreached';
  /** Counts the generated tokens the client received whole. */
  deliveredTokens: number;
  /** Counts the generated tokens that were received in the last moments before the end. */
  recentTokens: number;
}

export interface Target {
  origin: string;
  apiKey: string;
  model: string;
}

/** A node journals counts every 100 ms; that it died may be seen much later here, on a machine that starts other processes. */
const RECENT_MS = 1_000;

/** Limits the output tokens that a request may ask for. */
export const OUTPUT_MAX = 200;

export function unreached(plan: RequestPlan): ClientRecord {
  return {
    plan,
    rid: null,
    status: null,
    ending: 'unreached',
    deliveredTokens: 0,
    recentTokens: 0,
  };
}

/** Returns the headers of a request that say who sends it. */
export function headersOf({ caller }: RequestPlan, { apiKey }: Target): Record<string, string> {
  return {
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    ...(caller !== null && {
      'x-tollgate-run': `run-${caller}`,
      'x-tollgate-end-user': `user-${caller}`,
    }),
  };
}

/** Returns the words of a request and the directive by which the demo upstream answers it. */
export function promptOf(plan: RequestPlan, mode = plan.hasTool ? 'tools' : 'ok'): string {
  const words = Array.from({ length: plan.promptWords }, (_, index) => `word${index}`).join(' ');
  const classes = plan.isEveryClass ? ' classes=all' : '';
  return plan.protocol === 'embeddings'
    ? words
    : `${words}\n@demo mode=${mode} tokens=${plan.tokens} delay=${plan.delayMs}${classes}`;
}

/** Counts the tokens of a stream as they arrive. */
export class Arrivals {
  readonly #record: ClientRecord;
  readonly #seen: { atMs: number; tokens: number }[] = [];

  constructor(record: ClientRecord) {
    this.#record = record;
  }

  deliver(tokens: number): void {
    this.#record.deliveredTokens = tokens;
    this.#seen.push({ atMs: performance.now(), tokens });
  }

  end(): void {
    const before =
      this.#seen.findLast(({ atMs }) => atMs < performance.now() - RECENT_MS)?.tokens ?? 0;
    this.#record.recentTokens = this.#record.deliveredTokens - before;
  }
}
