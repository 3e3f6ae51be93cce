import type { ReportedUsage } from '@tollgate/contracts';
import type { BackgroundNews } from '@tollgate/keyspace';
import type { UsageBounds } from '@tollgate/metering';
import { TokenCounter } from '@tollgate/metering/token-counter';
import { ResponseLog, type StoredResponse } from '@tollgate/protocols';
import { nextTurn } from '../next-turn.ts';
import type { UpstreamCall } from '../upstream/upstream-call.ts';

/** Collects how much a run has generated where its provider reports no usage: the shown text, what its provider still shows, and its duration. */
export class RunEvidence {
  /** Counts the most output tokens that anything has shown. */
  shownTokens = 0;
  /** Is true when its provider shows everything that was generated. */
  isAllShown = false;
  /** Holds the usage in an answer other than the final one. */
  usage: ReportedUsage | null = null;
  /** Is the run in its provider's answer to the cancellation. */
  cancelled: StoredResponse | null = null;
  readonly #limitTokens: number;
  #startedAtMs: number;
  #endedAtMs: number | null = null;

  constructor({
    startedAtMs,
    bounds,
  }: {
    startedAtMs: number;
    bounds: Pick<UsageBounds, 'outputTokens'>;
  }) {
    this.#startedAtMs = startedAtMs;
    this.#limitTokens = bounds.outputTokens;
  }

  /** Returns the time of its end in Unix ms; null while nothing says that it has ended. */
  get endedAtMs(): number | null {
    return this.#endedAtMs;
  }

  shown(tokens: number): void {
    this.shownTokens = Math.max(this.shownTokens, tokens);
  }

  ended(atMs: number): void {
    this.#endedAtMs = Math.min(this.#endedAtMs ?? atMs, atMs);
  }

  /** An intruder may have written to Redis, so news raises a charge at most to the run's limit. */
  hear(news: BackgroundNews | null): void {
    if (!news) return;
    this.shown(Math.floor(Math.min(news.shownTokens, this.#limitTokens)));
    if (news.cancelledAtMs !== null) this.ended(news.cancelledAtMs);
  }

  /** The provider says that generation has not begun. */
  look(response: StoredResponse, atMs: number): void {
    if (response.status === 'queued' && this.shownTokens === 0) this.#startedAtMs = atMs;
    if (response.isOver) this.ended(atMs);
  }

  cancelledBy(response: StoredResponse, atMs: number): void {
    this.ended(atMs);
    if (response.isOver) this.cancelled = response;
    this.usage ??= response.usage;
  }

  async readLog(call: UpstreamCall): Promise<void> {
    let text = '';
    const log = new ResponseLog({ output: (piece) => (text += piece) });
    const isWhole = await new Promise<boolean>((resolve) =>
      call.consume({
        data: (chunk) => log.push(chunk),
        end: () => resolve(true),
        failed: () => resolve(false),
      }),
    );
    this.usage ??= log.usage;
    this.isAllShown = isWhole && text !== '' && !log.hasReasoning;
    this.shown(await tokensOf(text));
  }

  /** Queued time does not count when the provider states it. */
  generatedMs(nowMs: number): number {
    return Math.max(0, (this.#endedAtMs ?? nowMs) - this.#startedAtMs);
  }
}

/** Long texts are counted between other requests. */
export async function tokensOf(text: string): Promise<number> {
  const counter = new TokenCounter();
  counter.push(text);
  await counter.countGently(nextTurn);
  return counter.finish();
}
