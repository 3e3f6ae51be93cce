import type { Doubt, Overrun } from '@tollgate/metering';
import type { Logger } from 'pino';
import { PromptExcess } from './prompt-excess.ts';

/** An overrun counts for so long after it was last seen. */
const OVERRUN_MS = 3_600_000;
/** Doubts are counted in the hour that runs and the one before. */
const WINDOW_MS = 3_600_000;
/** Doubts of an upstream are a warning once in so long: one that misreports does so in every answer, and each line costs as much as a large body. */
const WARN_MS = 60_000;

interface TrustRecord {
  windowStartedAt: number;
  doubts: number;
  doubtsBefore: number;
  lastDoubt: Doubt | null;
  warnedAt: number;
  overrun: Overrun | null;
  overranAt: number;
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

/** What one answer showed of its upstream's word. */
export interface Shown {
  doubt: Doubt | null;
  overrun: Overrun | null;
  /** Prompt tokens above their bound. */
  excessTokens: number;
}

/** Whose word it is: `upstreamId` is null where nothing was sent to any. */
export interface Answered {
  rid: string;
  upstreamId: number | null;
  modelId: number;
}

/** How far this process believes each upstream: reports that were doubted lately, and by how much it overruns the limits it is given. The clock is passed in. */
export class UpstreamTrust {
  readonly #records = new Map<number, TrustRecord>();
  readonly #log: Pick<Logger, 'warn' | 'debug'>;

  constructor(log: Pick<Logger, 'warn' | 'debug'>) {
    this.#log = log;
  }

  note(
    { rid, upstreamId, modelId }: Answered,
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
    if (overrun === null) return;
    record.overrun = larger(current(record, now), overrun);
    record.overranAt = now;
  }

  /** What was seen lately of the upstreams that may serve a request; null where they all keep to their limits. */
  overrunOf(groups: readonly (readonly Served[])[], now: number): Overrun | null {
    let most: Overrun | null = null;
    if (this.#records.size === 0) return most;
    for (const { upstream } of groups.flat()) {
      const record = this.#records.get(upstream.id);
      const seen = record ? current(record, now) : null;
      if (seen) most = larger(most, seen);
    }
    return most;
  }

  /** For `stats/dict`. */
  of(upstreamId: number, now: number): Omit<Standing, 'id'> {
    const record = this.#records.get(upstreamId);
    if (!record) return { doubts: 0, last_doubt: null, hold_factor: 1 };
    roll(record, now);
    const excess = record.excess.rows(now);
    return {
      ...(excess.length > 0 && { excess }),
      doubts: record.doubts + record.doubtsBefore,
      last_doubt: record.lastDoubt,
      hold_factor: Math.ceil(current(record, now)?.factor ?? 1),
    };
  }

  /** For the node's report: those there is something to say of, the most doubted first. */
  doubted(now: number): Standing[] {
    return [...this.#records.keys()]
      .map((id) => ({ id, ...this.of(id, now) }))
      .filter(({ doubts, hold_factor, excess }) => doubts > 0 || hold_factor > 1 || excess)
      .toSorted((one, other) => other.doubts - one.doubts);
  }

  /** Forgets upstreams that the newest snapshot no longer names. */
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
        overrun: null,
        overranAt: 0,
        excess: new PromptExcess(2 * WINDOW_MS),
      };
      this.#records.set(upstreamId, record);
    }
    roll(record, now);
    return record;
  }
}

function current({ overrun, overranAt }: TrustRecord, now: number): Overrun | null {
  return now - overranAt < OVERRUN_MS ? overrun : null;
}

function larger(one: Overrun | null, other: Overrun): Overrun {
  return {
    factor: Math.max(one?.factor ?? 1, other.factor),
    tokens: Math.max(one?.tokens ?? 0, other.tokens),
  };
}

function roll(record: TrustRecord, now: number): void {
  const windows = Math.floor((now - record.windowStartedAt) / WINDOW_MS);
  if (windows === 0) return;
  record.doubtsBefore = windows === 1 ? record.doubts : 0;
  record.doubts = 0;
  record.windowStartedAt += windows * WINDOW_MS;
}
