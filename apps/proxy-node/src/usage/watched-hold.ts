import { NO_USAGE, outputTokensOf, promptTokensOf, type TokenUsage } from '@tollgate/contracts';
import { chargeOf } from '@tollgate/metering';
import type { Logger } from 'pino';
import type { OpenHold } from '../journal/open-hold.ts';
import type { HoldState, StopReason } from './checkpoint-step.ts';

/** A hold of a running request with those who listen to it. */
export interface Watched {
  readonly hold: OpenHold;
  state: HoldState;
  source: (() => TokenUsage) | null;
  usage: TokenUsage;
  onGrown: (() => void) | null;
  onStop: ((reason: StopReason) => void) | null;
}

export function watchedHold(hold: OpenHold, state: HoldState): Watched {
  return { hold, state, source: null, usage: NO_USAGE, onGrown: null, onStop: null };
}

/** Reads the count of a stream: its charge, and whether anything rose since the last time. A count that fails must not take the timer, and with it every other stream's count, with it. */
export function countAgain(
  watched: Watched,
  log: Pick<Logger, 'warn'>,
): { charge: number; isRisen: boolean } {
  const { source, hold, usage: before, state } = watched;
  try {
    const usage = source?.();
    if (!usage || usage === before) return { charge: state.charged, isRisen: false };
    const charge = chargeOf(usage, hold.price);
    watched.usage = usage;
    const isRisen =
      charge > state.charged ||
      promptTokensOf(usage) > promptTokensOf(before) ||
      outputTokensOf(usage) > outputTokensOf(before);
    return { charge, isRisen };
  } catch (error) {
    log.warn({ error, rid: hold.rid }, 'a stream could not be counted');
    return { charge: state.charged, isRisen: false };
  }
}
