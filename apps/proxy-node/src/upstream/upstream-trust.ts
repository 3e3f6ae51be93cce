import type { Doubt, Overrun } from '@tollgate/metering';
import type { Logger } from 'pino';
import { AccountOverruns, larger } from './account-overruns.ts';
import { PromptExcess } from './prompt-excess.ts';

/** Doubts are counted in the current hour and the previous one. */
const WINDOW_MS = 3_600_000;
/**
 * Doubts of an upstream are logged at most once in this time: an upstream that misreports does so in every answer, and each line costs as much as a
 * large body.
 */
const WARN_MS = 60_000;

interface TrustRecord {
  windowStartedAt: number;
  doubts: number;
  doubtsBefore: number;
  lastDoubt: Doubt | null;
  warnedAt: number;
  readonly overruns: AccountOverruns;
  readonly excess: PromptExcess;
}

interface Standing {
  id: number;
  doubts: number;
  last_doubt: Doubt | null;
  hold_factor: number;
  excess?: ReturnType<PromptExcess['rows']>;
}

interface Served {
  readonly upstream: { readonly id: number };
}

/** Holds the evidence of one answer about its upstream's reports. */
export interface Shown {
  doubt: Doubt | null;
  overrun: Overrun | null;
  /** Counts the reported prompt tokens above their bound. */
  excessTokens: number;
}

/** Names the upstream that answered; `upstreamId` is null if nothing was sent to any. */
export interface Answered {
  rid: string;
  upstreamId: number | null;
  modelId: number;
  /** The account's answers prove overruns only for its own holds. */
  accountId: number;
}

/** Knows how far this process believes each upstream, from recently doubted reports and overruns of its limits. The clock is passed in. */
export class UpstreamTrust {
  readonly #records = new Map<number, TrustRecord>();
  readonly #log: Pick<Logger, 'warn' | 'debug'>;

  constructor(log: Pick<Logger, 'warn' | 'debug'>) {
    this.#log = log;
  }

  note(
    { rid, upstreamId, modelId, accountId }: Answered,
    { doubt, overrun, excessTokens }: Shown,
    now: number,
  ): void {
    if (upstreamId === null || (doubt === null && overrun === null)) return;
    const record = this.#recordOf(upstreamId, now);
    if (doubt !== null) {
      record.doubts += 1;
      record.lastDoubt = doubt;
      const excess = excessTokens > 0 ? { model_id: modelId, excess_tokens: excessTokens } : {};
      this.#logDoubt({ rid, upstream_id: upstreamId, doubt, ...excess }, record, now);
    }
    if (excessTokens > 0) record.excess.note(modelId, excessTokens, now);
    if (overrun !== null) record.overruns.note(accountId, overrun, now);
  }

  /**
   * Returns the recent overrun of the upstreams that may serve a request, from answers to these accounts; null if all of them kept their limits. One
   * account's answers do not count for another's, because a caller may be able to provoke a false report.
   */
  overrunOf(
    groups: readonly (readonly Served[])[],
    accounts: readonly { readonly accountId: number }[],
    now: number,
  ): Overrun | null {
    let most: Overrun | null = null;
    if (this.#records.size === 0) return most;
    for (const { upstream } of groups.flat())
      for (const { accountId } of accounts) {
        const seen = this.#records.get(upstream.id)?.overruns.of(accountId, now);
        if (seen) most = larger(most, seen);
      }
    return most;
  }

  /** Returns the standing of an upstream for `stats/dict`. */
  of(upstreamId: number, now: number): Omit<Standing, 'id'> {
    const record = this.#records.get(upstreamId);
    if (!record) return { doubts: 0, last_doubt: null, hold_factor: 1 };
    roll(record, now);
    const excess = record.excess.rows(now);
    return {
      ...(excess.length > 0 && { excess }),
      doubts: record.doubts + record.doubtsBefore,
      last_doubt: record.lastDoubt,
      hold_factor: Math.ceil(record.overruns.most(now)?.factor ?? 1),
    };
  }

  /** Returns upstreams with doubts or overruns for the node's report, the most doubted first. */
  doubted(now: number): Standing[] {
    return [...this.#records.keys()]
      .map((id) => ({ id, ...this.of(id, now) }))
      .filter(({ doubts, hold_factor, excess }) => doubts > 0 || hold_factor > 1 || excess)
      .toSorted((one, other) => other.doubts - one.doubts);
  }

  /** Removes upstreams that the newest snapshot no longer names. */
  retain(upstreamIds: ReadonlySet<number>): void {
    for (const id of this.#records.keys()) if (!upstreamIds.has(id)) this.#records.delete(id);
  }

  #logDoubt(
    doubted: { rid: string; upstream_id: number; doubt: Doubt },
    record: TrustRecord,
    now: number,
  ): void {
    if (now - record.warnedAt < WARN_MS) return this.#log.debug(doubted, 'doubtful usage report');
    record.warnedAt = now;
    const doubts = record.doubts + record.doubtsBefore;
    this.#log.warn({ ...doubted, doubts }, 'doubtful usage report');
  }

  #recordOf(upstreamId: number, now: number): TrustRecord {
    let record = this.#records.get(upstreamId);
    if (!record) {
      record = {
        windowStartedAt: now,
        doubts: 0,
        doubtsBefore: 0,
        lastDoubt: null,
        warnedAt: Number.NEGATIVE_INFINITY,
        overruns: new AccountOverruns(),
        excess: new PromptExcess(2 * WINDOW_MS),
      };
      this.#records.set(upstreamId, record);
    }
    roll(record, now);
    return record;
  }
}

function roll(record: TrustRecord, now: number): void {
  const windows = Math.floor((now - record.windowStartedAt) / WINDOW_MS);
  if (windows === 0) return;
  record.doubtsBefore = windows === 1 ? record.doubts : 0;
  record.doubts = 0;
  record.windowStartedAt += windows * WINDOW_MS;
}
