import { NO_USAGE, outputTokensOf, promptTokensOf, type TokenUsage } from '@tollgate/contracts';
import { chargeOf } from '@tollgate/metering';
import type { Logger } from 'pino';
import type { OpenHold } from '../journal/open-hold.ts';

export type StopReason = 'balance_exhausted' | 'access_revoked';

/** A hold of a running request as the checkpointer sees it. */
export interface Watched {
  readonly hold: OpenHold;
  source: (() => TokenUsage) | null;
  usage: TokenUsage;
  charged: number;
  heldTokens: number;
  /** The stream waits until its hold has grown. */
  onGrown: (() => void) | null;
  waitsSinceMs: number;
  inFlight: boolean;
  /** Last time Redis was asked about it. */
  askedAtMs: number;
  nextCheckpointAtMs: number;
  nextExtensionAtMs: number;
  /** Last time Redis renewed the lease. */
  renewedAtMs: number;
  stopped: StopReason | null;
  onStop: ((reason: StopReason) => void) | null;
}

export function watchedHold(
  hold: OpenHold,
  { renewedAtMs, nextCheckpointAtMs }: Pick<Watched, 'renewedAtMs' | 'nextCheckpointAtMs'>,
): Watched {
  return {
    hold,
    source: null,
    usage: NO_USAGE,
    charged: 0,
    heldTokens: hold.grantedTokens,
    onGrown: null,
    waitsSinceMs: Number.NEGATIVE_INFINITY,
    inFlight: false,
    askedAtMs: Number.NEGATIVE_INFINITY,
    nextCheckpointAtMs,
    nextExtensionAtMs: Number.NEGATIVE_INFINITY,
    renewedAtMs,
    stopped: null,
    onStop: null,
  };
}

/** Reads the count of a stream. True when it rose. */
export function countAgain(watched: Watched, log: Pick<Logger, 'warn'>): boolean {
  const read = readCount(watched, log);
  if (!read) return false;
  const { usage, charge } = read;
  const { charged } = watched;
  watched.charged = Math.max(charged, charge);
  const isRisen =
    watched.charged > charged ||
    promptTokensOf(usage) > promptTokensOf(watched.usage) ||
    outputTokensOf(usage) > outputTokensOf(watched.usage);
  watched.usage = usage;
  return isRisen;
}

/** A count that fails must not take the timer, and with it every other stream's count, with it. */
function readCount(
  { source, hold }: Watched,
  log: Pick<Logger, 'warn'>,
): { usage: TokenUsage; charge: number } | null {
  try {
    const usage = source?.() ?? null;
    return usage && { usage, charge: chargeOf(usage, hold.price) };
  } catch (error) {
    log.warn({ error, rid: hold.rid }, 'a stream could not be counted');
    return null;
  }
}

/** A stream asks for its next slice when less than half of one is left. */
export function wantedExtension(
  { hold, heldTokens, charged, onGrown, nextExtensionAtMs, stopped }: Watched,
  now: number,
): number {
  if (!hold.isStream || stopped || now < nextExtensionAtMs) return 0;
  if (onGrown) return sliceOf(hold);
  if (heldTokens - charged >= hold.sliceTokens / 2) return 0;
  return Math.max(0, Math.min(hold.sliceTokens, hold.boundTokens - heldTokens));
}

/** Never nothing: a request without any output of its own may be sent some all the same. */
export function sliceOf({ sliceTokens }: OpenHold): number {
  return Math.max(1, sliceTokens);
}
