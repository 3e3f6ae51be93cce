import { outputTokensOf } from '@tollgate/contracts';
import type { RestoreReply } from '@tollgate/keyspace';
import type { Logger } from 'pino';
import type { OpenHold } from '../../journal/open-hold.ts';
import { toCounts, type JournalledCounts } from '../../journal/journal-line.ts';
import {
  checkpointStep,
  isLeaseOver,
  isTurnIdle,
  startCheckpoints,
  type HoldAction,
  type HoldEvent,
  type HoldState,
} from './checkpoint-step.ts';
import { LostEpochs } from '../settling/lost-epochs.ts';
import type { MeteringPort } from '../metering-port.ts';
import type { Timers } from '../../timers.ts';
import type { HoldKeeper, KeptHold } from './kept-hold.ts';
import { LiveSet } from '../../live-map.ts';

const COUNT_INTERVAL_MS = 100;
/** Holds are counted in this many turns, so that thousands of streams are not tokenised at once. */
const TURNS = 5;

export interface CheckpointerOptions {
  metering: Pick<MeteringPort, 'checkpoint' | 'epochOf' | 'restore'>;
  log: Pick<Logger, 'warn'>;
  now: () => number;
  /** Is the lease of a hold in Redis, after which it is reaped. */
  leaseMs: number;
  random: () => number;
  timers: Timers;
  /** Receives the counts that rose since the last call, for the journal. */
  onCounted: (counts: Record<string, JournalledCounts>) => void;
  /** Is the address of this worker; a hold names its node. */
  node: string;
  /** Is called directly before a hold is restored in this epoch, to which the request then belongs. Returns false when it must not be restored. */
  onRestoring: (hold: OpenHold, epoch: string) => boolean;
  /** A stream whose hold is used up waits this long for a purchase of auto-recharge. */
  rechargeWaitMs: number;
  /** A hold could not grow by all that it asked for, and a purchase of auto-recharge is due. */
  onRechargeDue: (hold: OpenHold) => void;
}

/**
 * Keeps the holds of running requests alive and large enough, and reports when one must end. `checkpointStep` decides; this class counts, calls Redis
 * and reports.
 */
export class Checkpointer implements HoldKeeper {
  readonly log: CheckpointerOptions['log'];
  readonly #options: CheckpointerOptions;
  readonly #turns: readonly LiveSet<KeptHold>[] = Array.from(
    { length: TURNS },
    () => new LiveSet<KeptHold>(),
  );
  readonly #lostEpochs = new LostEpochs();
  /** A turn is planned only while there are holds, so that an idle node is not woken. */
  #cancelTurn: (() => void) | null = null;
  #open = 0;
  #isClosed = false;
  /** Is the last turn that was taken. */
  #turn = 0;
  #opened = 0;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
    this.log = options.log;
  }

  get open(): number {
    return this.#open;
  }

  /** Returns the state of a hold that was just admitted. */
  start({ isStream, sliceTokens, boundTokens, grantedTokens }: OpenHold): HoldState {
    const { now, random, leaseMs, rechargeWaitMs } = this.#options;
    return startCheckpoints(
      { isStream, sliceTokens, boundTokens, leaseMs, rechargeWaitMs },
      { heldTokens: grantedTokens, now: now(), spread: random() },
    );
  }

  /** Starts to keep a hold until its `release`. */
  keep<Kept extends KeptHold>(kept: Kept): Kept {
    if (kept.hold.background) kept.detached();
    // A single hold has its turn last, because most answers are complete before it.
    const next = this.#opened++ % TURNS;
    kept.turn = this.#open === 0 ? this.#turn : next;
    this.#turns[kept.turn]?.add(kept);
    this.#open += 1;
    this.#planTurn();
    return kept;
  }

  release(kept: KeptHold): void {
    if (this.#turns[kept.turn]?.delete(kept)) this.#open -= 1;
  }

  /** A shard has lost its data, and every hold of that epoch with it. They are restored at once, without waiting for their own checkpoints. */
  lost(epoch: string): void {
    this.#lostEpochs.add(epoch);
  }

  /** Holds of these accounts from another epoch are lost. */
  filled(isInShard: (accountId: number) => boolean, epoch: string): void {
    for (const { hold } of this.#all())
      if (hold.epoch !== epoch && isInShard(hold.accountId)) this.lost(hold.epoch);
  }

  /**
   * Gives each hold its checkpoint at once: Redis was away and may have lost holds, whose tokens others could spend. With a key it affects only that
   * key's holds, because its record was written and may refuse them.
   */
  lookAgain(keyHash?: string): void {
    for (const kept of this.#all())
      if (keyHash === undefined || kept.hold.keyHash === keyHash)
        this.step(kept, { kind: 'look_again' });
  }

  *#all(): Generator<KeptHold> {
    for (const turn of this.#turns) yield* turn;
  }

  close = (): void => {
    this.#isClosed = true;
    this.#cancelTurn?.();
  };

  /** Plans the time of the next turn with a hold. It also takes the turns before it, which may have got a hold meanwhile. */
  #planTurn(): void {
    if (this.#isClosed || this.#cancelTurn || this.#open === 0) return;
    let steps = 1;
    while (steps < TURNS && this.#turns[(this.#turn + steps) % TURNS]?.size === 0) steps += 1;
    this.#cancelTurn = this.#options.timers.after((steps * COUNT_INTERVAL_MS) / TURNS, () => {
      this.#cancelTurn = null;
      for (let step = 0; step < steps; step += 1) this.#takeTurn();
      this.#planTurn();
    });
  }

  #takeTurn(): void {
    this.#turn = (this.#turn + 1) % TURNS;
    const holds = this.#turns[this.#turn];
    const counts: Record<string, JournalledCounts> = {};
    let isAnyCounted = false;
    const now = this.#options.now();
    for (const kept of holds ?? []) {
      if (kept.countIfMore()) {
        counts[kept.hold.rid] = toCounts(kept.usage);
        isAnyCounted = true;
      }
      const isEpochLost = this.#lostEpochs.has(kept.hold.epoch);
      const seen = { charge: kept.charge, isEpochLost };
      if (!isTurnIdle(kept.state, seen, now)) this.step(kept, { kind: 'turn', ...seen });
    }
    if (isAnyCounted) this.#options.onCounted(counts);
  }

  step(kept: KeptHold, event: HoldEvent): void {
    const [state, actions] = checkpointStep(kept.state, event, this.#options.now());
    kept.state = state;
    for (const action of actions) this.#act(kept, action);
  }

  #act(kept: KeptHold, action: HoldAction): void {
    switch (action.kind) {
      case 'checkpoint':
        return void this.#checkpoint(kept, action.extendTokens);
      case 'restore':
        return void this.#restore(kept);
      case 'grown':
        return kept.grown();
      case 'stop':
        return kept.stop(action.reason);
      case 'recharge_due':
        return this.#options.onRechargeDue(kept.hold);
      case 'epoch_lost':
        return this.lost(kept.hold.epoch);
      case 'epoch_restored':
        return this.#lostEpochs.delete(kept.hold.epoch);
      default:
        action satisfies never;
    }
  }

  #checkpoint(kept: KeptHold, extendTokens: number): Promise<void> {
    const { rid, epoch, accountId, modelId, keyHash, claims } = kept.hold;
    const { metering, leaseMs, node } = this.#options;
    const { charged: usedTokens } = kept.state;
    const request = {
      ...{ rid, epoch, accountId, modelId, keyHash, node, claims },
      ...{ extendTokens, leaseMs, usedTokens, outputTokens: outputTokensOf(kept.usage) },
    };
    return this.#ask(kept, async () => {
      const reply = await metering.checkpoint(request);
      return { kind: 'checkpointed', reply, askedTokens: extendTokens };
    });
  }

  #restore(kept: KeptHold): Promise<void> {
    return this.#ask(kept, async () => ({
      kind: 'restored',
      reply: await this.#takeAnew(kept),
    }));
  }

  async #ask(kept: KeptHold, call: () => Promise<HoldEvent>): Promise<void> {
    const event = await call().catch((error: unknown): HoldEvent => {
      this.#options.log.warn({ err: error, rid: kept.hold.rid }, 'checkpoint failed');
      return { kind: 'unanswered' };
    });
    this.step(kept, event);
  }

  async #takeAnew(kept: KeptHold): Promise<RestoreReply | null> {
    const { metering, leaseMs, node, onRestoring, now } = this.#options;
    const { hold } = kept;
    const epoch = await metering.epochOf(hold.accountId);
    const { state } = kept;
    if (epoch === null || isLeaseOver(state, now()) || !onRestoring(hold, epoch)) return null;
    const { rid, accountId, modelId, subscriptionId, keyId, generation, price, claims } = hold;
    return metering.restore({
      rid,
      epoch,
      accountId,
      modelId,
      subscriptionId,
      keyId,
      generation,
      claims,
      priceVersionId: price.id,
      node,
      wantTokens: Math.max(state.heldTokens, state.charged),
      usedTokens: state.charged,
      leaseMs,
    });
  }
}
