import type { AttemptCost } from '@tollgate/contracts';
import type { StreamSink } from '@tollgate/protocols';
import type { Candidate } from '../snapshot/routing-index.ts';
import type { Delivery } from './delivery.ts';
import type { Flight, RouteAttempt } from './sending/attempt.ts';
import type { Runner } from './sending/hedged-race.ts';

/** The output of an attempt counts from the moment it has won. */
export class WinnersSink implements StreamSink {
  counting: StreamSink | null = null;

  output(text: string, isShown: boolean): void {
    this.counting?.output(text, isShown);
  }

  call(): void {
    this.counting?.call?.();
  }
}

/** An attempt that was started, and may lose to another one. */
export class StartedAttempt implements Runner {
  readonly candidate: Candidate;
  readonly flight: Flight;
  readonly #delivery: Delivery;
  readonly #sink: WinnersSink;
  readonly #cost: AttemptCost;
  readonly #place: number;

  /** `cost` is what the attempt costs, should it lose; `place` is its place among the delivery's attempts. */
  constructor({
    delivery,
    candidate,
    flight,
    sink,
    cost,
    place,
  }: {
    delivery: Delivery;
    candidate: Candidate;
    flight: Flight;
    sink: WinnersSink;
    cost: AttemptCost;
    place: number;
  }) {
    this.candidate = candidate;
    this.flight = flight;
    this.#delivery = delivery;
    this.#sink = sink;
    this.#cost = cost;
    this.#place = place;
  }

  /** Makes this attempt the one whose output counts; must be called before its answer is read. */
  win(): void {
    this.#sink.counting = this.#delivery.passing.begin();
  }

  onLost(): void {
    const note = (): void => noteLost(this.#delivery.attempts[this.#place], this.#cost);
    note();
    // An attempt that was without an answer has its ending noted a moment later.
    this.flight.answerTo({ answered: note, failed: note });
  }
}

function noteLost(attempt: RouteAttempt | undefined, cost: AttemptCost): void {
  if (!attempt) return;
  attempt.cost = cost;
  if (attempt.error === undefined || attempt.error === 'given_up') attempt.error = 'hedge_lost';
}
