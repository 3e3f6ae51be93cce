import {
  NO_USAGE,
  type ChargeBasis,
  type ReportedUsage,
  type TokenUsage,
} from '@tollgate/contracts';
import { overrunOf, type Doubt, type Judgement, type Overrun } from '@tollgate/metering';

/** Holds the charge of an answer and the judgement of its upstream's report. */
export interface Counted {
  usage: TokenUsage;
  basis: ChargeBasis;
  /** Is the reason why the upstream's report was not believed, or why an operator should look at it. */
  doubt: Doubt | null;
  /** Counts the prompt tokens that the upstream reported above their bound: they are not charged. */
  excessTokens: number;
  /** Counts the output above the limit that the upstream was given, or null when there was none. */
  overrun: Overrun | null;
  /** Names the ordinary services at which the upstream says it answered. */
  services?: ReportedUsage['services'];
}

export const NOTHING_COUNTED: Counted = {
  usage: NO_USAGE,
  basis: 'reported',
  doubt: null,
  excessTokens: 0,
  overrun: null,
};

/** Counts an answer that continues without its request. */
export const NOT_COUNTED_YET: Counted = { ...NOTHING_COUNTED, basis: 'estimated' };

/** Returns what is charged. `limit` is the limit of the output that the upstream was given. `isBelowText` is true when its report is less than the text of the answer. */
export function countedAs(
  usage: TokenUsage,
  {
    judged,
    basis,
    limit,
    isBelowText = false,
  }: { judged: Judgement | null; basis: ChargeBasis; limit: number; isBelowText?: boolean },
): Counted {
  const services = judged?.usage?.services;
  return {
    usage,
    ...(services && { services }),
    basis,
    doubt: isBelowText ? 'output_below_text' : (judged?.doubt ?? null),
    excessTokens: judged?.excessTokens ?? 0,
    overrun: overrunOf({ reported: judged?.usage, counted: usage }, limit),
  };
}
