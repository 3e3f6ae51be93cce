import { chargeOf, outputPaidBy } from '@tollgate/metering';
import type { RestoreReply } from '@tollgate/keyspace';
import type { Logger } from 'pino';
import type { OpenHold } from '../../journal/open-hold.ts';
import type { HoldHandle } from '../usage-recorder.ts';
import { toCounts, type JournalledCounts } from '../../journal/journal-line.ts';
import {
  checkpointStep,
  isLeaseOver,
  isTurnIdle,
  startCheckpoints,
  type HoldAction,
  type HoldEvent,
} from './checkpoint-step.ts';
import { LostEpochs } from '../settling/lost-epochs.ts';
import type { MeteringPort } from '../metering-port.ts';
import type { Timers } from '../../timers.ts';
import {
  countAgain,
  countAtLeast,
  countIfMore,
  note,
  watchedHold,
  type Watched,
} from './watched-hold.ts';
import { LiveMap } from '../../live-map.ts';

const COUNT_INTERVAL_MS = 100;
/** Holds are counted in turns, so that thousands of streams do not tokenise in one go. */
const TURNS = 5;

export interface CheckpointerOptions {
  metering: Pick<MeteringPort, 'checkpoint' | 'epochOf' | 'restore'>;
  log: Pick<Logger, 'warn'>;
  now: () => number;
  /** Of a hold in Redis; past it the hold is reaped. */
  leaseMs: number;
  random: () => number;
  timers: Timers;
  /** Counts that rose since the last call, to be journalled. */
  onCounted: (counts: Record<string, JournalledCounts>) => void;
  /** Address of this worker: a hold names its node. */
  node: string;
  /** Called right before a hold is restored in this epoch: from then on the request belongs there. False when it must not be. */
  onRestoring: (hold: OpenHold, epoch: string) => boolean;
  /** A stream whose hold is used up waits this long for a purchase of auto-recharge. */
  rechargeWaitMs: number;
  /** A hold could not grow by all it asked for, and auto-recharge is due to buy more. */
  onRechargeDue: (hold: OpenHold) => void;
}

/** A hold that is kept; `release` ends it. */
export type KeptHold = Pick<
  HoldHandle,
  'count' | 'countAtLeast' | 'more' | 'counted' | 'room' | 'isBoundHeld' | 'grow' | 'onStop'
> & {
  /** Its answer is made in the background from now on. */
  detached: () => void;
  release: () => void;
};

/** Keeps the holds of running requests alive and large enough, and says when one must end: `checkpointStep` decides, this class counts, asks Redis and reports. */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  readonly #turns: readonly LiveMap<string, Watched>[] = Array.from(
    { length: TURNS },
    () => new LiveMap<string, Watched>(),
  );
  readonly #lostEpochs = new LostEpochs();
  /** While there are holds: an idle node is not woken, nor one that is nearly idle for turns without a hold. */
  #cancelTurn: (() => void) | null = null;
  #open = 0;
  #isClosed = false;
  /** The last one that was taken. */
  #turn = 0;
  #opened = 0;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
  }

  get open(): number {
    return this.#open;
  }

  /** Starts to keep a hold that was just admitted. */
  keep(hold: OpenHold): KeptHold {
    const { now, random, leaseMs, rechargeWaitMs } = this.#options;
    const { isStream, sliceTokens, boundTokens, grantedTokens } = hold;
    const state = startCheckpoints(
      { isStream, sliceTokens, boundTokens, leaseMs, rechargeWaitMs },
      { heldTokens: grantedTokens, now: now(), spread: random() },
    );
    const watched = watchedHold(hold, state);
    if (hold.background) this.#step(watched, { kind: 'detached' });
    // A hold that is alone has its turn last: most answers are whole before it.
    const next = this.#opened++ % TURNS;
    const turn = this.#turns[this.#open === 0 ? this.#turn : next];
    turn?.set(hold.rid, watched);
    this.#open += 1;
    this.#planTurn();
    return {
      count: (source) => (note(watched, false), void (watched.source = source)),
      countAtLeast: (outputTokens) => countAtLeast(watched, outputTokens),
      more: () => note(watched, true),
      room: (usage) =>
        outputPaidBy(watched.state.heldTokens - chargeOf(usage, hold.price), hold.price),
      counted: () => (countAgain(watched, this.#options.log), watched.usage),
      detached: () => this.#step(watched, { kind: 'detached' }),
      isBoundHeld: (usage) =>
        watched.state.heldTokens >= hold.boundTokens &&
        chargeOf(usage, hold.price) <= hold.boundTokens,
      grow: (listener) => {
        watched.onGrown = listener;
        this.#step(watched, { kind: 'waits' });
      },
      onStop: (listener) => {
        watched.onStop = listener;
        if (watched.state.stopped) listener(watched.state.stopped);
      },
      release: () => {
        if (turn?.delete(hold.rid)) this.#open -= 1;
        this.#step(watched, { kind: 'released' });
      },
    };
  }

  /** A shard has lost its data: every hold taken in that epoch is gone with it, so none of them waits for its own checkpoint to be restored. */
  lost(epoch: string): void {
    this.#lostEpochs.add(epoch);
  }

  /** Holds of these accounts that were taken in another epoch are gone. */
  filled(isInShard: (accountId: number) => boolean, epoch: string): void {
    for (const { hold } of this.#all())
      if (hold.epoch !== epoch && isInShard(hold.accountId)) this.lost(hold.epoch);
  }

  /**
   * Each hold has its checkpoint at once: Redis was away and may have lost holds, whose tokens others could spend. With a key only its holds, because its
   * record was written and may refuse them.
   */
  lookAgain(keyHash?: string): void {
    for (const watched of this.#all())
      if (keyHash === undefined || watched.hold.keyHash === keyHash)
        this.#step(watched, { kind: 'look_again' });
  }

  *#all(): Generator<Watched> {
    for (const turn of this.#turns) yield* turn.values();
  }

  close = (): void => {
    this.#isClosed = true;
    this.#cancelTurn?.();
  };

  /** At the time of the next one that has a hold. Those before it are taken with it: a hold may have come into them meanwhile. */
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
    for (const watched of holds?.values() ?? []) {
      const { charge, isRisen } = countIfMore(watched, this.#options.log);
      if (isRisen) {
        counts[watched.hold.rid] = toCounts(watched.usage);
        isAnyCounted = true;
      }
      const seen = { charge, isEpochLost: this.#lostEpochs.has(watched.hold.epoch) };
      if (!isTurnIdle(watched.state, seen, now)) this.#step(watched, { kind: 'turn', ...seen });
    }
    if (isAnyCounted) this.#options.onCounted(counts);
  }

  #step(watched: Watched, event: HoldEvent): void {
    const [state, actions] = checkpointStep(watched.state, event, this.#options.now());
    watched.state = state;
    for (const action of actions) this.#act(watched, action);
  }

  #act(watched: Watched, action: HoldAction): void {
    switch (action.kind) {
      case 'checkpoint':
        return void this.#checkpoint(watched, action.extendTokens);
      case 'restore':
        return void this.#restore(watched);
      case 'grown':
        return watched.onGrown?.();
      case 'stop':
        return watched.onStop?.(action.reason);
      case 'recharge_due':
        return this.#options.onRechargeDue(watched.hold);
      case 'epoch_lost':
        return this.lost(watched.hold.epoch);
      case 'epoch_restored':
        return this.#lostEpochs.delete(watched.hold.epoch);
      default:
        action satisfies never;
    }
  }

  #checkpoint(watched: Watched, extendTokens: number): Promise<void> {
    const { rid, epoch, accountId, modelId, keyHash } = watched.hold;
    const { metering, leaseMs, node } = this.#options;
    const { charged: usedTokens } = watched.state;
    const request = {
      ...{ rid, epoch, accountId, modelId, keyHash, node },
      ...{ extendTokens, leaseMs, usedTokens },
    };
    return this.#ask(watched, async () => {
      const reply = await metering.checkpoint(request);
      return { kind: 'checkpointed', reply, askedTokens: extendTokens };
    });
  }

  #restore(watched: Watched): Promise<void> {
    return this.#ask(watched, async () => ({
      kind: 'restored',
      reply: await this.#takeAnew(watched),
    }));
  }

  async #ask(watched: Watched, call: () => Promise<HoldEvent>): Promise<void> {
    const event = await call().catch((error: unknown): HoldEvent => {
      this.#options.log.warn({ err: error, rid: watched.hold.rid }, 'checkpoint failed');
      return { kind: 'unanswered' };
    });
    this.#step(watched, event);
  }

  async #takeAnew(watched: Watched): Promise<RestoreReply | null> {
    const { metering, leaseMs, node, onRestoring, now } = this.#options;
    const { hold } = watched;
    const epoch = await metering.epochOf(hold.accountId);
    const { state } = watched;
    if (epoch === null || isLeaseOver(state, now()) || !onRestoring(hold, epoch)) return null;
    const { rid, accountId, modelId, subscriptionId, keyId, generation, price } = hold;
    return metering.restore({
      rid,
      epoch,
      accountId,
      modelId,
      subscriptionId,
      keyId,
      generation,
      priceVersionId: price.id,
      node,
      wantTokens: Math.max(state.heldTokens, state.charged),
      usedTokens: state.charged,
      leaseMs,
    });
  }
}
