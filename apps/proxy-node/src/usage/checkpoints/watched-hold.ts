import {
  NO_USAGE,
  outputTokensOf,
  promptTokensOf,
  withOutputAtLeast,
  type TokenUsage,
} from '@tollgate/contracts';
import { chargeOf } from '@tollgate/metering';
import type { Logger } from 'pino';
import type { OpenHold } from '../../journal/open-hold.ts';
import type { HoldState, StopReason } from './checkpoint-step.ts';

/** A hold of a running request with those who listen to it. */
export interface Watched {
  readonly hold: OpenHold;
  state: HoldState;
  source: (() => TokenUsage) | null;
  usage: TokenUsage;
  /** The source says when there is more. */
  isPushed: boolean;
  hasMore: boolean;
  /** Turns since the last look. */
  unseenTurns: number;
  onGrown: (() => void) | null;
  onStop: ((reason: StopReason) => void) | null;
}

export function watchedHold(hold: OpenHold, state: HoldState): Watched {
  return {
    hold,
    state,
    source: null,
    usage: NO_USAGE,
    isPushed: false,
    hasMore: true,
    unseenTurns: 0,
    onGrown: null,
    onStop: null,
  };
}

export function note(watched: Watched, isPushed: boolean): void {
  watched.isPushed = isPushed;
  watched.hasMore = true;
}

/** Counts in each turn from then on: the source no longer says when there is more. */
export function countAtLeast(watched: Watched, outputTokens: () => number): void {
  const { source } = watched;
  watched.source = () => withOutputAtLeast(source?.() ?? watched.usage, outputTokens());
  note(watched, false);
}

/** What becomes known without a chunk, such as the tokens of a long prompt, waits for so many turns: a second. */
const UNSEEN_TURNS_MAX = 10;

/** As `countAgain`, for a turn: a stream that was silent since its last look is left alone, as most of thousands are most of the time. */
export function countIfMore(
  watched: Watched,
  log: Pick<Logger, 'warn'>,
): { charge: number; isRisen: boolean } {
  watched.unseenTurns += 1;
  if (watched.isPushed && !watched.hasMore && watched.unseenTurns < UNSEEN_TURNS_MAX)
    return { charge: watched.state.charged, isRisen: false };
  watched.hasMore = false;
  watched.unseenTurns = 0;
  return countAgain(watched, log);
}

/** Reads the count of a stream: its charge, and whether anything rose since the last time. A count that fails must not take the timer, and with it every other stream's count, with it. */
export function countAgain(
  watched: Watched,
  log: Pick<Logger, 'warn'>,
): { charge: number; isRisen: boolean } {
  const { source, hold, usage: before, state } = watched;
  try {
    const usage = source?.();
    if (!usage) return { charge: state.charged, isRisen: false };
    const charge = chargeOf(usage, hold.price);
    watched.usage = usage;
    const isRisen =
      charge > state.charged ||
      promptTokensOf(usage) > promptTokensOf(before) ||
      outputTokensOf(usage) > outputTokensOf(before);
    return { charge, isRisen };
  } catch (error) {
    log.warn({ err: error, rid: hold.rid }, 'a stream could not be counted');
    return { charge: state.charged, isRisen: false };
  }
}
