import { ClientGone } from '../http/read-body.ts';
import { LiveSet } from '../live-map.ts';
import type { Asking } from '../observe/incident-log.ts';
import { traceIds } from '../observe/observer.ts';
import { Refusal } from '../refusals.ts';
import { BudgetSpent } from './admission/budget-exceeded.ts';
import type { PipelineParts } from './pipeline-parts.ts';
import type { ClientRequest } from './request/client-request.ts';
import { RequestLife, type LifeHost } from './request-life.ts';
import { isExpected, sendError } from './send-error.ts';
import type { Turn } from './turn.ts';

/** Serves requests, each in a life of its own. */
export class Pipeline implements LifeHost {
  readonly parts: PipelineParts;
  isCut = false;
  readonly running = new LiveSet<Turn>();

  constructor(parts: PipelineParts) {
    this.parts = parts;
  }

  /** Serves a request and never throws: every request gets an answer in its own protocol's shape, or had its connection closed by its client; `onServed` is called then. */
  serve(request: ClientRequest, onServed: (request: ClientRequest) => void): void {
    new RequestLife(this, request, onServed).begin();
  }

  /** The node stops and its drain time is over: every answer ends now with an error in its own protocol and is billed for what was delivered. */
  cut(): void {
    this.isCut = true;
    for (const { passing } of this.running) passing.cut();
  }

  /** Ends the request with this id; false where it does not run here. */
  end(rid: string): boolean {
    for (const turn of this.running)
      if (turn.rid === rid) {
        turn.end();
        return true;
      }
    return false;
  }

  /** Answers a request with an error, and notes it; a client that has left gets nothing. */
  report(
    { reply, rid, callerId, shape, observed, incoming }: ClientRequest,
    error: unknown,
    asking: Asking | null,
  ): void {
    const { log, refusals } = this.parts;
    if (error instanceof ClientGone) return;
    const ids = traceIds(observed, incoming.headers);
    if (!isExpected(error)) log.error({ err: error, rid, ...ids }, 'request failed unexpectedly');
    const { status, code, message } = sendError(reply, error, { rid, shape });
    observed?.refused(status, code);
    const about = error instanceof Refusal ? error.about : null;
    const budget = error instanceof BudgetSpent ? error.budget : null;
    refusals.note({ rid, ids, callerId, status, code, message, asking, about, budget });
  }
}
