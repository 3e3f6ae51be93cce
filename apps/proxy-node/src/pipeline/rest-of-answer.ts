import type { AttemptCost } from '@tollgate/contracts';
import { InvalidRequest } from '@tollgate/protocols';
import type { Candidate } from '../snapshot/routing-index.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import { meteredBy, type Metered } from './answers/answer-meter.ts';
import { CutAnswer, type Way } from './answers/cut-answer.ts';
import {
  continuesPrefill,
  forget,
  noteContinued,
  noteCut,
  noteFailure,
  noteRefusedPrefill,
  readmitLosers,
  type Delivery,
  type Rest,
  type Tries,
} from './delivery.ts';
import { answerOf, type RouteAttempt } from './sending/attempt.ts';
import type { Choice } from './sending/route.ts';
import type { StartedAttempt } from './started-attempt.ts';

interface Host {
  choose(): Choice;
  start(candidate: Candidate, rest: Rest): StartedAttempt;
  /** Takes tokens of the hour's allowance; false when they are used up. */
  takes(tokens: number): boolean;
}

/**
 * Asks one upstream after the other for the end of an answer that broke off. First those that write on: by default only where the provider continues a
 * prefill natively. Then the others, which are asked for the whole answer again: it is passed on where it begins with all that the client has.
 */
export class RestOfAnswer {
  readonly #delivery: Delivery;
  readonly #tries: Tries;
  readonly #host: Host;
  #way: Way = 'rest';
  /** Holds what the attempts that broke off cost. */
  readonly #cuts: { attempt: RouteAttempt | null; cost: AttemptCost }[] = [];
  /** Lists routes that cannot write on. */
  #passedOver: number[] = [];

  constructor(delivery: Delivery, tries: Tries, host: Host) {
    this.#delivery = delivery;
    this.#tries = tries;
    this.#host = host;
  }

  /** Does not throw: the stream has begun, and ends with an error in it. */
  async run(first: CutAnswer): Promise<Metered> {
    const delivery = this.#delivery;
    const tries = this.#tries;
    let cut = first;
    let { error } = first;
    this.#noteCut();
    readmitLosers(delivery, tries);
    while (!delivery.isOver) {
      const choice = this.#host.choose();
      if (choice.kind !== 'candidate') {
        if (!this.#askAgain()) break;
        continue;
      }
      const { candidate } = choice;
      try {
        const metered = await this.#attempt(cut, candidate);
        if (!metered) continue;
        this.#noteBill();
        return metered;
      } catch (failure) {
        if (failure instanceof InvalidRequest) continue;
        if (!(failure instanceof UpstreamFailure)) throw failure;
        ({ error } = failure);
        if (!(failure instanceof CutAnswer)) {
          noteFailure(delivery, tries, { failure, candidate, durationMs: 0 });
          noteRefusedPrefill(tries, { failure, candidate });
          continue;
        }
        cut = failure;
        this.#noteBill();
        this.#noteCut();
      }
    }
    return cut.giveUp(error);
  }

  #noteCut(): void {
    noteCut(this.#tries);
    this.#cuts.push({ attempt: this.#tries.read, cost: this.#delivery.passing.costSoFar() });
  }

  /** Notes that the installation pays the attempts which another whole answer replaces. */
  #noteBill(): void {
    if (!noteContinued(this.#delivery)) return;
    for (const { attempt, cost } of this.#cuts.splice(0)) if (attempt) attempt.cost = cost;
  }

  /** Returns false when no route is left that was passed over. */
  #askAgain(): boolean {
    if (this.#way === 'again' || this.#passedOver.length === 0) return false;
    this.#way = 'again';
    for (const id of this.#passedOver) forget(this.#tries.tried, id);
    return true;
  }

  /** Returns null where this route cannot end the answer in this way. */
  async #attempt(cut: CutAnswer, candidate: Candidate): Promise<Metered | null> {
    const { asked, admitted, passing, rid } = this.#delivery;
    const outputLimit = admitted.outputLimit ?? 0;
    const { prefills } = this.#tries;
    const way = this.#way;
    const mayPrefill = prefills.get(candidate.route.id) !== 'refused';
    const takes = (): boolean => this.#takes();
    const rest = this.#mayAsk(candidate)
      ? await cut.askOf(asked.ask, { candidate, way, outputLimit, mayPrefill, rid, takes })
      : null;
    if (!rest) return this.#passOver(candidate);
    if (rest.isPrefill) prefills.set(candidate.route.id, 'asked');
    const attempt = this.#host.start(candidate, rest);
    attempt.win();
    passing.watch(attempt.flight);
    const answer = await answerOf(attempt.flight);
    this.#tries.read = answer.attempt;
    return meteredBy(passing, answer);
  }

  #mayAsk(candidate: Candidate): boolean {
    return this.#way === 'again' || this.#isAllowed || continuesPrefill(this.#tries, candidate);
  }

  /** Is true where an operator has allowed that any route writes on. */
  get #isAllowed(): boolean {
    return this.#delivery.asked.model.failover?.continues ?? false;
  }

  /** Takes an attempt's tokens from the allowance, which bounds what no operator has allowed. */
  #takes(): boolean {
    if (this.#way === 'rest' && this.#isAllowed) return true;
    const { passing } = this.#delivery;
    const { input_tokens: prompt, output_tokens: delivered } = passing.costSoFar();
    // The provider reads what was delivered as a prefill, or says it again.
    return this.#host.takes(prompt + delivered);
  }

  #passOver({ route: { id } }: Candidate): null {
    this.#tries.tried.push(id);
    this.#passedOver.push(id);
    return null;
  }
}
