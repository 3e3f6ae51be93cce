import { chargeOf, outputPaidBy } from '@tollgate/metering';
import type { CheckpointReply, RestoreReply } from '@tollgate/keyspace';
import type { Logger } from 'pino';
import type { OpenHold } from '../journal/open-hold.ts';
import type { HoldHandle } from './usage-recorder.ts';
import { toCounts, type JournalledCounts } from '../journal/journal-line.ts';
import { LostEpochs } from './lost-epochs.ts';
import type { MeteringPort } from './metering-port.ts';
import type { Timers } from '../timers.ts';
import {
  countAgain,
  sliceOf,
  wantedExtension,
  watchedHold,
  type StopReason,
  type Watched,
} from './watched-hold.ts';

const CHECKPOINT_INTERVAL_MS = 5_000;
/** Self-fencing: a node that Redis has not heard for this share of the lease (45 s of 60) ends its streams, before another may spend what they hold. */
const FENCE_AFTER_LEASES = 0.75;
const COUNT_INTERVAL_MS = 100;
/** Holds are counted in turns, so that thousands of streams do not tokenise in one go. */
const TURNS = 5;
const EXTEND_RETRY_MS = 500;
/** A hold that Redis has lost is asked for again this often, until its shard is filled. */
const RESTORE_RETRY_MS = 500;

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
export type KeptHold = Pick<HoldHandle, 'count' | 'room' | 'isBoundHeld' | 'grow' | 'onStop'> & {
  release: () => void;
};

/** Keeps the holds of running requests alive and large enough, and says when one must end. */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  readonly #turns: Map<string, Watched>[] = Array.from({ length: TURNS }, () => new Map());
  readonly #lostEpochs = new LostEpochs();
  readonly #stopTurning: () => void;
  #turn = 0;
  #opened = 0;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
    this.#stopTurning = options.timers.every(COUNT_INTERVAL_MS / TURNS, () => this.#takeTurn());
  }

  get open(): number {
    return this.#turns.reduce((sum, turn) => sum + turn.size, 0);
  }

  /** Starts to keep a hold that was just admitted. */
  keep(hold: OpenHold): KeptHold {
    const now = this.#options.now();
    const watched = watchedHold(hold, {
      renewedAtMs: now,
      // Spread, so that streams admitted together do not all report together.
      nextCheckpointAtMs: now + CHECKPOINT_INTERVAL_MS * (0.5 + this.#options.random() / 2),
    });
    const turn = this.#turns[this.#opened++ % TURNS];
    turn?.set(hold.rid, watched);
    return {
      count: (source) => void (watched.source = source),
      room: (usage) => outputPaidBy(watched.heldTokens - chargeOf(usage, hold.price), hold.price),
      isBoundHeld: () => watched.heldTokens >= hold.boundTokens,
      grow: (listener) => {
        watched.waitsSinceMs = this.#options.now();
        this.#grow(watched, listener);
      },
      onStop: (listener) => {
        watched.onStop = listener;
        if (watched.stopped) listener(watched.stopped);
      },
      release: () => {
        turn?.delete(hold.rid);
        watched.onGrown = null;
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

  /** Redis was away and may have lost holds: each has its checkpoint at once, before others can spend what is missing. */
  lookAgain(): void {
    for (const watched of this.#all()) watched.nextCheckpointAtMs = this.#options.now();
  }

  *#all(): Generator<Watched> {
    for (const turn of this.#turns) yield* turn.values();
  }

  close = (): void => this.#stopTurning();

  #takeTurn(): void {
    const holds = this.#turns[this.#turn++ % TURNS];
    const now = this.#options.now();
    const counts: Record<string, JournalledCounts> = {};
    let isAnyCounted = false;
    for (const watched of holds?.values() ?? []) {
      if (countAgain(watched, this.#options.log)) {
        counts[watched.hold.rid] = toCounts(watched.usage);
        isAnyCounted = true;
      }
      this.#decide(watched, now);
    }
    if (isAnyCounted) this.#options.onCounted(counts);
  }

  #decide(watched: Watched, now: number): void {
    if (this.#isLeaseOver(watched)) this.#stop(watched, 'access_revoked');
    if (watched.inFlight) return;
    if (this.#lostEpochs.has(watched.hold.epoch)) {
      if (now - watched.askedAtMs >= RESTORE_RETRY_MS) void this.#restore(watched, now);
      return;
    }
    const extendTokens = wantedExtension(watched, now);
    if (extendTokens > 0 || now >= watched.nextCheckpointAtMs)
      void this.#checkpoint(watched, extendTokens, now);
  }

  #grow(watched: Watched, onGrown: () => void): void {
    watched.onGrown = onGrown;
    if (!watched.inFlight)
      void this.#checkpoint(watched, sliceOf(watched.hold), this.#options.now());
  }

  async #checkpoint(watched: Watched, extendTokens: number, now: number): Promise<void> {
    const { rid, epoch, accountId, modelId, keyHash } = watched.hold;
    const { metering, leaseMs } = this.#options;
    watched.nextCheckpointAtMs = now + CHECKPOINT_INTERVAL_MS;
    if (extendTokens > 0) watched.nextExtensionAtMs = now + EXTEND_RETRY_MS;
    const request = { rid, epoch, accountId, modelId, keyHash, extendTokens, leaseMs };
    const reply = await this.#ask(watched, now, () =>
      metering.checkpoint({ ...request, usedTokens: watched.charged }),
    );
    if (reply) this.#apply(watched, reply, { epoch, extendTokens, askedAtMs: now });
  }

  /** One call at a time. Null without an answer: tried again before the next interval; without one for long enough the stream ends. */
  async #ask<Reply>(
    watched: Watched,
    now: number,
    call: () => Promise<Reply>,
  ): Promise<Reply | null> {
    watched.inFlight = true;
    watched.askedAtMs = now;
    try {
      return await call();
    } catch (error) {
      this.#options.log.warn({ error, rid: watched.hold.rid }, 'checkpoint failed');
      watched.nextCheckpointAtMs = Math.min(
        watched.nextCheckpointAtMs,
        this.#options.now() + CHECKPOINT_INTERVAL_MS / 5,
      );
      return null;
    } finally {
      watched.inFlight = false;
    }
  }

  #apply(
    watched: Watched,
    reply: CheckpointReply,
    { epoch, extendTokens, askedAtMs }: { epoch: string; extendTokens: number; askedAtMs: number },
  ): void {
    switch (reply.kind) {
      case 'ok':
        this.#noteHeld(watched, { heldTokens: reply.heldTokens, askedAtMs });
        if (reply.isRechargeDue) this.#options.onRechargeDue(watched.hold);
        this.#noteExtension(watched, { askedTokens: extendTokens, ...reply });
        return;
      case 'stop':
        watched.renewedAtMs = askedAtMs;
        this.#stop(watched, 'access_revoked');
        return;
      case 'gone':
        // Reaped while it was running: nothing is held for it any more. Its final will be a correction.
        if (reply.state === 'reaped') this.#stop(watched, 'access_revoked');
        if (reply.state === 'none') void this.#restore(watched, askedAtMs);
        return;
      case 'fenced':
        this.lost(epoch);
        void this.#restore(watched, askedAtMs);
        return;
      default:
        reply satisfies never;
    }
  }

  /**
   * Takes a hold again that Redis lost, so that no other request spends its tokens meanwhile. Only while its lease cannot have run out: a hold that may have
   * been reaped before the loss has a charge in PostgreSQL already, and its final must go there. Not a checkpoint, which alone looks at key and
   * account: the next one comes when it would have come.
   */
  async #restore(watched: Watched, askedAtMs: number): Promise<void> {
    const reply = await this.#ask(watched, askedAtMs, () => this.#takeAnew(watched));
    if (reply?.kind === 'restored') {
      this.#lostEpochs.delete(watched.hold.epoch);
      this.#noteHeld(watched, { heldTokens: reply.heldTokens, askedAtMs });
      this.#noteExtension(watched, { askedTokens: 0, extendedTokens: 0, isRechargeDue: false });
    } else if (reply?.kind === 'fenced') {
      this.lost(watched.hold.epoch);
    } else if (reply?.kind === 'gone' && (reply.state === 'reaped' || watched.onGrown)) {
      this.#stop(watched, 'access_revoked');
    }
  }

  async #takeAnew(watched: Watched): Promise<RestoreReply | null> {
    const { metering, leaseMs, node, onRestoring } = this.#options;
    const { hold } = watched;
    const epoch = await metering.epochOf(hold.accountId);
    if (epoch === null || this.#isLeaseOver(watched) || !onRestoring(hold, epoch)) return null;
    const { rid, accountId, modelId, subscriptionId, keyId, generation, price } = hold;
    const wantTokens = Math.max(watched.heldTokens, watched.charged);
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
      wantTokens,
      usedTokens: watched.charged,
      leaseMs,
    });
  }

  #noteHeld(
    watched: Watched,
    { heldTokens, askedAtMs }: { heldTokens: number; askedAtMs: number },
  ): void {
    watched.renewedAtMs = askedAtMs;
    watched.heldTokens = heldTokens;
  }

  #isLeaseOver({ renewedAtMs }: Watched): boolean {
    return this.#options.now() - renewedAtMs >= FENCE_AFTER_LEASES * this.#options.leaseMs;
  }

  /** A stream that waits goes on with what it got, however little. It ends when that is nothing, unless a purchase is due: that it is given time for. */
  #noteExtension(
    watched: Watched,
    {
      askedTokens,
      extendedTokens,
      isRechargeDue,
    }: { askedTokens: number; extendedTokens: number; isRechargeDue: boolean },
  ): void {
    const { onGrown } = watched;
    if (askedTokens > 0 && extendedTokens === askedTokens) watched.nextExtensionAtMs = 0;
    if (!onGrown) return;
    // The lease was just being renewed when the stream began to wait.
    if (askedTokens === 0) return this.#grow(watched, onGrown);
    const waitedMs = this.#options.now() - watched.waitsSinceMs;
    if (extendedTokens === 0 && isRechargeDue && waitedMs < this.#options.rechargeWaitMs) return;
    watched.onGrown = null;
    if (extendedTokens > 0) onGrown();
    else this.#stop(watched, 'balance_exhausted');
  }

  #stop(watched: Watched, reason: StopReason): void {
    if (watched.stopped) return;
    watched.stopped = reason;
    watched.onGrown = null;
    watched.onStop?.(reason);
  }
}
