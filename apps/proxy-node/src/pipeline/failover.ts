import { InvalidRequest } from '@tollgate/protocols';
import { monotonicMs } from '../monotonic-ms.ts';
import type { Candidate } from '../snapshot/routing-index.ts';
import { Hedges } from '../upstream/pace/hedges.ts';
import { mayRepeat } from '../upstream/upstream-failure.ts';
import type { UpstreamHealth } from '../upstream/upstream-health.ts';
import { meteredBy, type Metered, type MeteredListener } from './answers/answer-meter.ts';
import { AttemptLimits } from './sending/attempt-deadlines.ts';
import { CutAnswer } from './answers/cut-answer.ts';
import {
  costOfLoser,
  isWorthRepeating,
  noteSkipped,
  outboundOf,
  windowOf,
  withSoonestWait,
  type Delivery,
  type Rest,
  type Tries,
} from './delivery.ts';
import { answerOf, type Answer } from './sending/attempt.ts';
import { FirstTry, noteTried, type FailedTry, type Next, type TryHost } from './first-try.ts';
import type { Forwarder } from './sending/forward.ts';
import { raceForContent } from './sending/hedged-race.ts';
import { AllRest } from './answers/no-answer.ts';
import { RestOfAnswer } from './rest-of-answer.ts';
import { StartedAttempt, WinnersSink } from './started-attempt.ts';
import { route, type Choice } from './sending/route.ts';

/** Tries one upstream after the other, while the client has seen nothing of an answer and the model's `replay` allows it. */
export class Failover implements TryHost {
  readonly #forwarder: Forwarder;
  readonly #health: UpstreamHealth;
  readonly #attemptsMax: number;
  readonly #hedges: Hedges;
  readonly #limits: AttemptLimits;

  constructor({
    forwarder,
    health,
    attemptsMax,
    workers,
  }: {
    forwarder: Forwarder;
    health: UpstreamHealth;
    attemptsMax: number;
    /** Counts the processes of the node. */
    workers: number;
  }) {
    this.#hedges = new Hedges(workers);
    this.#limits = new AttemptLimits(workers);
    this.#forwarder = forwarder;
    this.#health = health;
    this.#attemptsMax = attemptsMax;
  }

  /** Fails with the last UpstreamFailure when no upstream answered. The first attempt runs straight; what is rare begins when it is needed. */
  deliver(delivery: Delivery, listener: MeteredListener): void {
    const first = new FirstTry(this, delivery, listener);
    if (delivery.asked.model.failover?.hedge) return this.goOn(first, null);
    try {
      if (delivery.isOver) throw new AllRest(0);
      first.next = this.#next(delivery, first.tries);
      const attempt = this.#start(delivery, first.tries, first.next);
      attempt.win();
      delivery.passing.watch(attempt.flight);
      attempt.flight.answerTo(first);
    } catch (error) {
      first.failed(error);
    }
  }

  /** An attempt of the request is answered. */
  answered(
    delivery: Delivery,
    tries: Tries,
    { candidate, answer }: { candidate: Candidate; answer: Answer },
  ): void {
    tries.read = answer.attempt;
    delivery.onAnswer(candidate);
  }

  /** Runs the attempts that follow the first one or replace it. */
  goOn({ delivery, tries, listener }: FirstTry, failed: FailedTry | null): void {
    this.#deliverOn(delivery, tries, failed).then(
      (metered) => listener.metered(metered),
      (error: unknown) => listener.failed(error),
    );
  }

  /** Tries one upstream after the other. `first` is the attempt that was made already. */
  async #deliverOn(delivery: Delivery, tries: Tries, first: FailedTry | null): Promise<Metered> {
    for (let failed = first; ;) {
      if (failed?.error instanceof CutAnswer) return this.#continue(delivery, tries, failed.error);
      if (failed) noteTried(delivery, tries, failed);
      if (delivery.isOver) throw tries.last?.failure ?? new AllRest(0);
      const next = this.#next(delivery, tries);
      const startedAt = monotonicMs();
      try {
        return await this.#attempt(delivery, tries, next);
      } catch (error) {
        failed = { error, candidate: next.candidate, startedAt };
      }
    }
  }

  /** Tries one upstream after the other for the end of an answer that broke off. */
  #continue(delivery: Delivery, tries: Tries, cut: CutAnswer): Promise<Metered> {
    const { id } = delivery.asked.model;
    return new RestOfAnswer(delivery, tries, {
      choose: () => (tries.asked < this.#attemptsMax ? this.#choose(delivery, tries) : NO_MORE),
      start: (candidate, rest) => this.#start(delivery, tries, { candidate, isAnew: false }, rest),
      takes: (tokens) => this.#limits.takes(id, tokens),
    }).run(cut);
  }

  async #attempt(delivery: Delivery, tries: Tries, next: Next): Promise<Metered> {
    const { passing, asked } = delivery;
    const first = this.#start(delivery, tries, next);
    first.win();
    passing.watch(first.flight);
    const { hedge } = asked.model.failover ?? {};
    const delayMs =
      hedge && asked.ask.isStream && !asked.ask.isBackground
        ? this.#hedges.delayMs(asked.model.id, monotonicMs())
        : null;
    const won =
      delayMs === null
        ? { runner: first, answer: await answerOf(first.flight) }
        : await raceForContent(first, {
            delayMs,
            second: () => this.#second(delivery, tries, next),
          });
    if (won.runner !== first) {
      won.runner.win();
      passing.watch(won.runner.flight);
    }
    const { answer } = won;
    this.answered(delivery, tries, { candidate: won.runner.candidate, answer });
    const metered = await meteredBy(passing, answer);
    if (hedge && tries.asked === 1 && metered.firstTokenMs !== null)
      this.#hedges.observe(asked.model.id, metered.firstTokenMs);
    return metered;
  }

  /** Starts the attempt that is made beside a slow one; returns null where none may be made. */
  #second(delivery: Delivery, tries: Tries, first: Next): StartedAttempt | null {
    const { asked } = delivery;
    const cap = asked.model.failover?.hedge;
    if (!cap || delivery.isOver || tries.asked >= this.#attemptsMax) return null;
    const choice = this.#choose(delivery, tries);
    if (choice.kind !== 'candidate') return null;
    const tokens = costOfLoser(delivery, [first.candidate, choice.candidate]);
    if (!this.#hedges.take(asked.model.id, { cap, tokens, now: monotonicMs() })) return null;
    try {
      return this.#start(delivery, tries, { candidate: choice.candidate, isAnew: false });
    } catch (error) {
      if (error instanceof InvalidRequest) return null;
      throw error;
    }
  }

  /** Starts an attempt. `rest` is the body that asks for the rest of a cut answer. */
  #start(
    delivery: Delivery,
    tries: Tries,
    { candidate, isAnew }: Next,
    rest: Rest | null = null,
  ): StartedAttempt {
    const { passing, attempts, asked, admitted } = delivery;
    tries.tried.push(candidate.route.id);
    const cost = passing.costSoFar();
    const deadlines = this.#limits.of(candidate, {
      model: asked.model,
      ask: asked.ask,
      hasOther:
        tries.asked + 1 < this.#attemptsMax && this.#choose(delivery, tries).kind === 'candidate',
      delivery,
      promptTokens: cost.input_tokens,
      outputTokens: admitted.outputLimit ?? 0,
    });
    const sink = new WinnersSink();
    const place = attempts.length;
    const dispatch = { sink, attempts, deadlines, isAnew };
    const flight = this.#forwarder.forward(candidate, outboundOf(delivery, rest), dispatch);
    if (!isAnew) tries.asked += 1;
    return new StartedAttempt({ delivery, candidate, flight, sink, cost, place });
  }

  /** Throws the last failure where it is the request's end. */
  #next(delivery: Delivery, tries: Tries): Next {
    const { last } = tries;
    const replay = delivery.asked.model.failover?.replay;
    if (last && this.#adapts(tries, last)) return { candidate: last.candidate, isAnew: true };
    const seen = { delivery, tries, health: this.#health };
    if (last && !mayRepeat(last.failure, replay ?? 'always'))
      throw withSoonestWait(last.failure, seen);
    const again = (candidate: Candidate): Next => {
      tries.repeated.add(candidate.route.id);
      return { candidate, isAnew: true };
    };
    const isFresh = last !== null && !tries.repeated.has(last.candidate.route.id);
    if (isFresh && last.failure.evidence === 'stale') return again(last.candidate);
    const choice = tries.asked < this.#attemptsMax ? this.#choose(delivery, tries) : NO_MORE;
    if (choice.kind === 'candidate') return { candidate: choice.candidate, isAnew: false };
    if (isFresh && isWorthRepeating(last, replay)) return again(last.candidate);
    if (choice.kind === 'resting') noteSkipped(delivery.attempts, choice);
    if (last) throw withSoonestWait(last.failure, seen);
    throw choice.kind === 'resting'
      ? new AllRest(choice.waitMs, choice.isRateLimited)
      : new AllRest(0);
  }

  #adapts({ adapted }: Tries, { candidate, failure }: NonNullable<Tries['last']>): boolean {
    const field = this.#forwarder.learn(candidate, failure);
    const key = `${candidate.route.id}/${field}`;
    if (field === null || adapted.has(key)) return false;
    adapted.add(key);
    return true;
  }

  #choose({ asked, admitted }: Delivery, { session, tried, refused, windowMin }: Tries): Choice {
    const now = monotonicMs();
    const isLarger = (candidate: Candidate): boolean =>
      windowOf(candidate, asked.model) > windowMin;
    return route({
      groups:
        windowMin < 0 ? asked.candidates : asked.candidates.map((group) => group.filter(isLarger)),
      ...{ tried, refused },
      session,
      health: this.#health,
      accountId: admitted.accountId,
      now,
      random: Math.random,
    });
  }
}

const NO_MORE: Choice = { kind: 'exhausted' };
