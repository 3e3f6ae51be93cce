import { upstreamError } from '@tollgate/protocols';
import { gatewayFailure, UpstreamFailure } from '../../upstream/upstream-failure.ts';
import { answerOf, type Answer, type Flight } from './attempt.ts';

/** Is one of two attempts that run at the same time. */
export interface Runner {
  readonly flight: Flight;
  /** Notes the possible cost of a lost attempt for the installation. */
  onLost(): void;
}

export interface Won<T extends Runner> {
  readonly runner: T;
  readonly answer: Answer;
}

/** Starts `second` after `delayMs`, unless it answers null, and gives the attempt that speaks first; the other is closed. Rejects when none is left. */
export function raceForContent<T extends Runner>(
  first: T,
  { delayMs, second }: { delayMs: number; second: () => T | null },
): Promise<Won<T>> {
  return new ContentRace<T>().start(first, delayMs, second);
}

class ContentRace<T extends Runner> {
  readonly #running = new Map<T, Answer | null>();
  readonly #won = Promise.withResolvers<Won<T>>();
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  start(first: T, delayMs: number, second: () => T | null): Promise<Won<T>> {
    this.#timer = setTimeout(() => {
      const other = this.#isOver ? null : second();
      if (other) this.#run(other);
    }, delayMs);
    this.#run(first);
    return this.#won.promise;
  }

  #run(runner: T): void {
    this.#running.set(runner, null);
    answerOf(runner.flight)
      .then((answer) => this.#answered(runner, answer))
      .catch((error: unknown) => this.#failed(runner, error));
  }

  async #answered(runner: T, answer: Answer): Promise<void> {
    if (this.#isOver) return lose(runner, answer);
    this.#running.set(runner, answer);
    const isContent = await firstContent(answer);
    if (this.#isOver) return;
    if (!isContent && this.#running.size > 1) {
      close(answer, contentless());
      return this.#failed(runner, null);
    }
    this.#running.delete(runner);
    this.#end();
    this.#won.resolve({ runner, answer });
  }

  #failed(runner: T, error: unknown): void {
    this.#running.delete(runner);
    if (this.#isOver) return;
    // A request that the gateway itself ends ends both attempts: the client left, or the node stops.
    const isGivenUp = error instanceof UpstreamFailure && error.evidence === 'given_up';
    if (this.#running.size > 0 && !isGivenUp) return runner.onLost();
    this.#end();
    this.#won.reject(error instanceof Error ? error : new Error(String(error)));
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const [runner, answer] of this.#running) lose(runner, answer);
    this.#running.clear();
  }
}

function contentless(): UpstreamFailure {
  return new UpstreamFailure(upstreamError('unreadable'), { evidence: 'contentless' });
}

function lose(runner: Runner, answer: Answer | null): void {
  const failure = gatewayFailure('unreachable', 'Another upstream was faster.', {
    evidence: 'given_up',
  });
  if (answer) close(answer, failure);
  else runner.flight.abort('another upstream was faster');
  runner.onLost();
}

function close(answer: Answer, failure: UpstreamFailure): void {
  answer.close(failure);
  answer.call.abort(failure.message);
}

/** Resolves to true if the answer has content, and it can be read from its beginning afterwards; to false once it has ended without. */
function firstContent({ call, exchange }: Answer): Promise<boolean> {
  const reader = exchange.openStream({ output: () => undefined });
  const consumed: Buffer[] = [];
  return new Promise((resolve) => {
    const done = (isContent: boolean): void => {
      call.rewind(consumed);
      resolve(isContent);
    };
    call.consume({
      data: (chunk) => {
        consumed.push(chunk);
        reader.push(chunk);
        if (reader.hasContent || reader.state !== 'running') done(reader.hasContent);
      },
      // A body that is no event stream is read at its end.
      end: () => {
        reader.end();
        done(reader.hasContent);
      },
      failed: () => done(reader.hasContent),
    });
  });
}
