import { chargeOf } from '@tollgate/metering';
import { NO_USAGE, type TokenUsage } from '@tollgate/contracts';
import type { CheckpointReply } from '@tollgate/keyspace';
import type { Logger } from 'pino';
import type { OpenHold } from './books.ts';
import { toCounts, type JournalledCounts } from './journal-line.ts';
import type { MeteringPort } from './metering-port.ts';

const CHECKPOINT_INTERVAL_MS = 5_000;
/** Self-fencing: a node that Redis has not heard for this share of the lease (45 s of 60) ends its streams, before another may spend what they hold. */
const FENCE_AFTER_LEASES = 0.75;
const COUNT_INTERVAL_MS = 100;
/** Holds are counted in turns, so that thousands of streams do not tokenise in one go. */
const TURNS = 5;
/** Once a hold cannot grow, its last tokens are watched this closely. */
const WATCH_INTERVAL_MS = 10;
const EXTEND_RETRY_MS = 500;
const GROWTH_DECAY = 0.9;

export type StopReason = 'balance_exhausted' | 'access_revoked';

interface Watched {
  readonly hold: OpenHold;
  source: (() => TokenUsage) | null;
  usage: TokenUsage;
  charged: number;
  /** Charged tokens between two counts, the recent most: what may come before the next one. */
  growth: number;
  heldTokens: number;
  isExtensionRefused: boolean;
  inFlight: boolean;
  nextCheckpointAtMs: number;
  nextExtensionAtMs: number;
  /** Last time Redis renewed the lease. */
  renewedAtMs: number;
  stopped: StopReason | null;
  onStop: ((reason: StopReason) => void) | null;
}

export interface CheckpointerOptions {
  metering: Pick<MeteringPort, 'checkpoint'>;
  log: Pick<Logger, 'warn'>;
  now: () => number;
  /** Of a hold in Redis; past it the hold is reaped. */
  leaseMs: number;
  random: () => number;
  /** Counts that rose since the last call, to be journalled. */
  onCounted: (counts: Record<string, JournalledCounts>) => void;
}

/** Keeps the holds of running requests alive and large enough, and says when one must end (metering.md 2.2, design.md Deduction). */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  readonly #turns: Map<string, Watched>[] = Array.from({ length: TURNS }, () => new Map());
  readonly #watched = new Set<Watched>();
  readonly #timers: NodeJS.Timeout[];
  #turn = 0;
  #opened = 0;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
    this.#timers = [setInterval(() => this.#takeTurn(), COUNT_INTERVAL_MS / TURNS).unref(), setInterval(() => this.#watchClosely(), WATCH_INTERVAL_MS).unref()];
  }

  get open(): number {
    return this.#turns.reduce((sum, turn) => sum + turn.size, 0);
  }

  /** Starts to keep a hold that was just admitted. `release` ends it. */
  keep(hold: OpenHold): { count: (source: () => TokenUsage) => void; onStop: (listener: (reason: StopReason) => void) => void; release: () => void } {
    const now = this.#options.now();
    const watched: Watched = {
      hold,
      source: null,
      usage: NO_USAGE,
      charged: 0,
      growth: 0,
      heldTokens: hold.grantedTokens,
      isExtensionRefused: false,
      inFlight: false,
      // Spread, so that streams admitted together do not all report together.
      nextCheckpointAtMs: now + CHECKPOINT_INTERVAL_MS * (0.5 + this.#options.random() / 2),
      nextExtensionAtMs: 0,
      renewedAtMs: now,
      stopped: null,
      onStop: null,
    };
    const turn = this.#turns[this.#opened++ % TURNS];
    turn?.set(hold.rid, watched);
    return {
      count: (source) => void (watched.source = source),
      onStop: (listener) => {
        watched.onStop = listener;
        if (watched.stopped) listener(watched.stopped);
      },
      release: () => {
        turn?.delete(hold.rid);
        this.#watched.delete(watched);
      },
    };
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  #takeTurn(): void {
    const holds = this.#turns[this.#turn++ % TURNS];
    const now = this.#options.now();
    const counts: Record<string, JournalledCounts> = {};
    let isAnyCounted = false;
    for (const watched of holds?.values() ?? []) {
      if (this.#countOne(watched)) {
        counts[watched.hold.rid] = toCounts(watched.usage);
        isAnyCounted = true;
      }
      this.#decide(watched, now);
    }
    if (isAnyCounted) this.#options.onCounted(counts);
  }

  #watchClosely(): void {
    for (const watched of this.#watched) {
      this.#countOne(watched);
      this.#stopIfExhausted(watched);
    }
  }

  /** True when the count rose. */
  #countOne(watched: Watched): boolean {
    const read = this.#read(watched);
    if (!read) return false;
    const { usage, charge } = read;
    const { charged } = watched;
    watched.charged = Math.max(charged, charge);
    watched.growth = Math.max(watched.charged - charged, Math.floor(watched.growth * GROWTH_DECAY));
    const isRisen = watched.charged > charged || usage.input > watched.usage.input || usage.output > watched.usage.output;
    watched.usage = usage;
    return isRisen;
  }

  /** A count that fails must not take the timer, and with it every other stream's count, with it. */
  #read({ source, hold }: Watched): { usage: TokenUsage; charge: number } | null {
    try {
      const usage = source?.() ?? null;
      return usage && { usage, charge: chargeOf(usage, hold.price) };
    } catch (error) {
      this.#options.log.warn({ error, rid: hold.rid }, 'a stream could not be counted');
      return null;
    }
  }

  #decide(watched: Watched, now: number): void {
    if (now - watched.renewedAtMs >= FENCE_AFTER_LEASES * this.#options.leaseMs) this.#stop(watched, 'access_revoked');
    if (watched.isExtensionRefused) this.#stopIfExhausted(watched);
    if (watched.inFlight) return;
    const extendTokens = this.#wantedExtension(watched, now);
    if (extendTokens > 0 || now >= watched.nextCheckpointAtMs) void this.#checkpoint(watched, extendTokens, now);
  }

  /** A stream asks for its next slice when less than half of one is left. */
  #wantedExtension({ hold, heldTokens, charged, nextExtensionAtMs, stopped }: Watched, now: number): number {
    if (!hold.isStream || stopped || now < nextExtensionAtMs || heldTokens - charged >= hold.sliceTokens / 2) return 0;
    return Math.max(0, Math.min(hold.sliceTokens, hold.boundTokens - heldTokens));
  }

  async #checkpoint(watched: Watched, extendTokens: number, now: number): Promise<void> {
    const { rid, epoch, accountId, modelId, keyHash } = watched.hold;
    watched.inFlight = true;
    watched.nextCheckpointAtMs = now + CHECKPOINT_INTERVAL_MS;
    if (extendTokens > 0) watched.nextExtensionAtMs = now + EXTEND_RETRY_MS;
    try {
      const reply = await this.#options.metering.checkpoint({ rid, epoch, accountId, modelId, keyHash, usedTokens: watched.charged, extendTokens, leaseMs: this.#options.leaseMs });
      this.#apply(watched, reply, { extendTokens, askedAtMs: now });
    } catch (error) {
      // Tried again at the next interval; without one for long enough the stream ends.
      watched.nextCheckpointAtMs = Math.min(watched.nextCheckpointAtMs, this.#options.now() + CHECKPOINT_INTERVAL_MS / 5);
      this.#options.log.warn({ error, rid }, 'checkpoint failed');
    } finally {
      watched.inFlight = false;
    }
  }

  #apply(watched: Watched, reply: CheckpointReply, { extendTokens, askedAtMs }: { extendTokens: number; askedAtMs: number }): void {
    switch (reply.kind) {
      case 'ok':
        watched.renewedAtMs = askedAtMs;
        watched.heldTokens = reply.heldTokens;
        if (extendTokens > 0) this.#noteExtension(watched, reply.extendedTokens < extendTokens);
        return;
      case 'stop':
        watched.renewedAtMs = askedAtMs;
        this.#stop(watched, 'access_revoked');
        return;
      case 'gone':
        // Reaped while it was running: nothing is held for it any more. Its final will be a correction.
        if (reply.state === 'reaped') this.#stop(watched, 'access_revoked');
        return;
      case 'fenced':
        return;
      default:
        reply satisfies never;
    }
  }

  #noteExtension(watched: Watched, isRefused: boolean): void {
    watched.isExtensionRefused = isRefused;
    if (!isRefused) {
      watched.nextExtensionAtMs = 0;
      this.#watched.delete(watched);
    } else if (this.#turns.some((turn) => turn.get(watched.hold.rid) === watched)) {
      this.#watched.add(watched);
    }
  }

  /** Ends a little early rather than late: what comes between two counts must still fit. */
  #stopIfExhausted(watched: Watched): void {
    if (watched.charged + watched.growth >= watched.heldTokens) this.#stop(watched, 'balance_exhausted');
  }

  #stop(watched: Watched, reason: StopReason): void {
    if (watched.stopped) return;
    watched.stopped = reason;
    this.#watched.delete(watched);
    watched.onStop?.(reason);
  }
}
