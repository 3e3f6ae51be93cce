/** The ledger of a subscription before a movement. `overdraft` below zero: a correction overtook its charge. */
export interface TokenState {
  balance: number;
  overdraft: number;
  /** Tokens usage consumed from lots so far; what a correction may put back. Only needed for a negative delta. */
  consumed: number;
}

/** Computes how a delta moves balance, lots and overdraft. `fromBalance` below zero puts tokens back. */
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
 * A withdrawal is refunded in full whatever was booked before it, for Redis gave out tokens no usage had a claim to. Where the balance is too small,
 * usage has taken some of them first (its correction is still to come, or it went beyond its hold): they are taken back from it, and it is overdrawn instead.
 * Tokens that corrections brought before their charges belong to those. `uncovered` is beyond all that was bought: Redis gave more than the ledger knows of.
 */
export function withdrawTokens(
  { balance, consumed }: Pick<TokenState, 'balance' | 'consumed'>,
  tokens: number,
): { reclaimed: number; uncovered: number } {
  const reclaimed = Math.min(Math.max(0, tokens - balance), consumed);
  return { reclaimed, uncovered: Math.max(0, tokens - balance - reclaimed) };
}

/** A purchase repays the overdraft before it adds to the balance. */
export function repaymentOf(state: Pick<TokenState, 'overdraft'>, purchased: number): number {
  return Math.min(Math.max(0, state.overdraft), purchased);
}
