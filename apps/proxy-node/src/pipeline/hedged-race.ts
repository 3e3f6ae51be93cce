import { upstreamError } from '@tollgate/protocols';
import { gatewayFailure, UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { Answer, Flight } from './forward.ts';

/** One of two attempts that run at the same time. */
export interface Runner {
  readonly flight: Flight;
  /** What the loss of this attempt may cost the installation is noted here. */
  readonly onLost: () => void;
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
  const running = new Map<T, Answer | null>();
  const { promise, resolve, reject } = Promise.withResolvers<Won<T>>();
  let isOver = false;
  const end = (): void => {
    isOver = true;
    clearTimeout(timer);
    for (const [runner, answer] of running) lose(runner, answer);
    running.clear();
  };
  const failed = (runner: T, error: unknown): void => {
    running.delete(runner);
    if (isOver) return;
    // What the gateway itself ends ends both: the client left, or the node stops.
    const isGivenUp = error instanceof UpstreamFailure && error.evidence === 'given_up';
    if (running.size > 0 && !isGivenUp) return runner.onLost();
    end();
    reject(error instanceof Error ? error : new Error(String(error)));
  };
  const run = (runner: T): void => {
    running.set(runner, null);
    runner.flight.answer
      .then(async (answer) => {
        if (isOver) return lose(runner, answer);
        running.set(runner, answer);
        const isContent = await firstContent(answer);
        if (isOver) return;
        if (!isContent && running.size > 1) {
          close(
            answer,
            new UpstreamFailure(upstreamError('unreadable'), { evidence: 'contentless' }),
          );
          return failed(runner, null);
        }
        running.delete(runner);
        end();
        resolve({ runner, answer });
      })
      .catch((error: unknown) => failed(runner, error));
  };
  const timer = setTimeout(() => {
    const other = isOver ? null : second();
    if (other) run(other);
  }, delayMs);
  run(first);
  return promise;
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

/** Whether the answer has content; it can be read from its beginning afterwards. False once it has ended without. */
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
