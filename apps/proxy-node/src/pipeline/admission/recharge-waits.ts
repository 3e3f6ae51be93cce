import type { FundsHint } from '@tollgate/contracts';
import type { ClientReply } from '../../http/client-reply.ts';
import { ClientGone } from '../../http/read-body.ts';
import { Refusal, retryHeaders } from '../../refusals.ts';
import { SYSTEM_TIMERS, type Timers } from '../../timers.ts';

/** Is the share of one subscription in the waiting requests of a process: one account cannot take all places. */
const SUBSCRIPTION_SHARE = 1 / 4;
const RETRY_MS = 1_000;

export interface RechargeWaitsParts {
  /** Limits the wait of one request; 0 means that requests do not wait. */
  waitMs: number;
  waitersMax: number;
  /** Asks the control plane to evaluate auto-recharge. */
  hint: (hint: FundsHint) => void;
  timers?: Timers;
}

interface Waiter {
  wake: (() => void) | null;
  isOver: boolean;
}

/**
 * Holds the requests that wait for a purchase of auto-recharge which is due. They ask Redis again when the control plane says that their subscription has
 * changed, and once at the end, in case the message was lost.
 */
export class RechargeWaits {
  readonly #parts: RechargeWaitsParts;
  readonly #waiting = new Map<string, Set<Waiter>>();
  #count = 0;

  constructor(parts: RechargeWaitsParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#count;
  }

  /** The record of a subscription was changed, or tokens were credited. */
  changed(subscription: { accountId: number; modelId: number }): void {
    for (const waiter of this.#waiting.get(nameOf(subscription)) ?? []) waiter.wake?.();
  }

  /** Calls `again` until it answers something else than undefined: at once, after each change, and when the time is over; it resolves with undefined then. Throws Refusal when too many wait already, ClientGone when the client has left. */
  async until<Answer>(
    hint: FundsHint,
    client: Pick<ClientReply, 'isGone' | 'onGone'>,
    again: () => Promise<Answer | undefined>,
  ): Promise<Answer | undefined> {
    const waiter: Waiter = { wake: null, isOver: false };
    this.#enter(hint, waiter);
    const end = (): void => {
      waiter.isOver = true;
      waiter.wake?.();
    };
    const { waitMs, timers = SYSTEM_TIMERS } = this.#parts;
    const cancelEnd = timers.after(waitMs, end);
    // A hint may be lost, or be one too many of its second.
    const cancelReminder = timers.after(waitMs / 2, () => this.#parts.hint(hint));
    client.onGone(end);
    try {
      for (;;) {
        const wasOver = waiter.isOver;
        const changed = new Promise<void>((resolve) => (waiter.wake = resolve));
        if (client.isGone) throw new ClientGone();
        const answer = await again();
        if (answer !== undefined || wasOver) return answer;
        if (!waiter.isOver) await changed;
      }
    } finally {
      cancelEnd();
      cancelReminder();
      this.#leave(hint, waiter);
    }
  }

  #enter(hint: FundsHint, waiter: Waiter): void {
    const { waitMs, waitersMax } = this.#parts;
    const waiters = this.#waiting.get(nameOf(hint)) ?? new Set();
    this.#parts.hint(hint);
    const shareMax = Math.max(1, Math.floor(waitersMax * SUBSCRIPTION_SHARE));
    if (waitMs === 0 || this.#count >= waitersMax || waiters.size >= shareMax)
      throw rechargePending();
    waiters.add(waiter);
    this.#waiting.set(nameOf(hint), waiters);
    this.#count += 1;
  }

  #leave(hint: FundsHint, waiter: Waiter): void {
    const waiters = this.#waiting.get(nameOf(hint));
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiting.delete(nameOf(hint));
    this.#count -= 1;
  }
}

export function rechargePending(): Refusal {
  return new Refusal('recharge_pending', { headers: retryHeaders(RETRY_MS) });
}

function nameOf({ accountId, modelId }: { accountId: number; modelId: number }): string {
  return `${accountId}:${modelId}`;
}
