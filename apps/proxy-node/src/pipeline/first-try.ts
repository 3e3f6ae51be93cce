import { InvalidRequest } from '@tollgate/protocols';
import { monotonicMs } from '../monotonic-ms.ts';
import type { Candidate } from '../snapshot/routing-index.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { Metered, MeteredListener } from './answers/answer-meter.ts';
import { noteFailure, Tries, type Delivery } from './delivery.ts';
import type { Answer, AnswerListener } from './sending/attempt.ts';

/** Names the next attempt. */
export interface Next {
  readonly candidate: Candidate;
  /** Is true for an attempt on a connection of its own. */
  readonly isAnew: boolean;
}

/** Gets the answers to the first attempt; `Failover` fits. */
export interface TryHost {
  answered(delivery: Delivery, tries: Tries, by: { candidate: Candidate; answer: Answer }): void;
  goOn(first: FirstTry, failed: FailedTry): void;
}

/** Describes an attempt that brought no answer, or only the beginning of one. */
export interface FailedTry {
  readonly error: unknown;
  readonly candidate: Candidate;
  /** Is the time of the start in monotonic ms. */
  readonly startedAt: number;
}

/** Makes the first attempt of a request, which is the only one of nearly all requests. */
export class FirstTry implements AnswerListener, MeteredListener {
  readonly #host: TryHost;
  readonly delivery: Delivery;
  readonly tries: Tries;
  readonly listener: MeteredListener;
  readonly #startedAt = monotonicMs();
  /** Is null until a route is chosen. */
  next: Next | null = null;

  constructor(host: TryHost, delivery: Delivery, listener: MeteredListener) {
    this.#host = host;
    this.delivery = delivery;
    this.tries = new Tries(delivery);
    this.listener = listener;
  }

  answered(answer: Answer): void {
    const { candidate } = this.next as Next;
    this.#host.answered(this.delivery, this.tries, { candidate, answer });
    this.delivery.passing.read(answer, this);
  }

  metered(metered: Metered): void {
    this.listener.metered(metered);
  }

  failed(error: unknown): void {
    if (this.next === null) return this.listener.failed(error);
    const { candidate } = this.next;
    this.#host.goOn(this, { error, candidate, startedAt: this.#startedAt });
  }
}

export function noteTried(
  delivery: Delivery,
  tries: Tries,
  { error, candidate, startedAt }: FailedTry,
): void {
  // This route's protocol has no words for the request; another's has, or it had been refused before it was admitted.
  if (error instanceof InvalidRequest) return;
  if (!(error instanceof UpstreamFailure)) throw error;
  const durationMs = monotonicMs() - startedAt;
  noteFailure(delivery, tries, { failure: error, candidate, durationMs });
}
