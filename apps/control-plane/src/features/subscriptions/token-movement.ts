/** Describes the ledger of a subscription before a movement. `overdraft` is below zero when a correction was booked before its charge. */
export interface TokenState {
  balance: number;
  overdraft: number;
  /** Counts the tokens that usage has taken from lots, which a correction may put back. Only a negative delta needs it. */
  consumed: number;
}

/** Describes how a delta moves balance, lots and overdraft. `fromBalance` below zero puts tokens back. */
export interface TokenMovement {
  fromBalance: number;
  overdraft: number;
}

/**
 * Splits charged tokens between balance and overdraft so that `fromBalance + overdraft == tokens`, always:
 * therefore balance - overdraft moves by exactly the delta, as Redis did, in whatever order the events come.
 *
 * A charge first meets what a correction put there before it, then the balance; what neither covers is overdrawn.
 * A negative delta (correction) first repays overdraft, then refills consumed lots; what is beyond both came before its charge and waits for it.
 */
export function moveTokens(
  { balance, overdraft, consumed }: TokenState,
  tokens: number,
): TokenMovement {
  if (tokens >= 0) {
    const awaited = Math.min(Math.max(0, -overdraft), tokens);
    const fromBalance = Math.min(balance, tokens - awaited);
    return { fromBalance, overdraft: tokens - fromBalance };
  }
  const repaid = Math.min(Math.max(0, overdraft), -tokens);
  const refilled = Math.min(consumed, -tokens - repaid);
  return { fromBalance: 0 - refilled, overdraft: tokens + refilled };
}

/**
 * Computes a withdrawal. It is refunded in full whatever was booked before it, because Redis gave out tokens that no usage had a claim to. Where the
 * balance is too small, usage has taken some of those tokens first (its correction is still to come, or it exceeded its hold): the withdrawal takes
 * them back, and the usage is overdrawn instead. This includes tokens that corrections brought before their charges. `uncovered` exceeds all that was
 * bought: Redis gave out more than the ledger knows.
 */
export function withdrawTokens(
  { balance, consumed }: Pick<TokenState, 'balance' | 'consumed'>,
  tokens: number,
): { reclaimed: number; uncovered: number } {
  const reclaimed = Math.min(Math.max(0, tokens - balance), consumed);
  return { reclaimed, uncovered: Math.max(0, tokens - balance - reclaimed) };
}

/** Splits a purchase: it repays the overdraft before it adds to the balance. */
export function repaymentOf(state: Pick<TokenState, 'overdraft'>, purchased: number): number {
  return Math.min(Math.max(0, state.overdraft), purchased);
}
