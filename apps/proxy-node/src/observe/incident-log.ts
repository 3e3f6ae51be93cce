import {
  EXCERPT_BYTES_MAX,
  INCIDENTS_MAX,
  REFUSED_KEPT_MAX,
  REFUSED_MESSAGE_MAX,
  type ErrorExcerpt,
  type Incidents,
  type RefusalCount,
  type RefusedRequest,
  withoutHiddenMarks,
} from '@tollgate/contracts';
import { excerptOf } from '@tollgate/protocols';

/** Says who asked for which model, as far as it was read. */
export interface Asking {
  readonly keyHashes: readonly string[];
  readonly model: string | null;
}

export interface RefusedAsking extends Asking {
  readonly rid: string;
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** Describes an attempt that its upstream answered with an error. */
export interface FailedAttempt {
  readonly rid: string;
  readonly accountId: number;
  readonly upstreamId: number;
  /** Is the number of the attempt within the request. */
  readonly place: number;
  readonly status: number;
  readonly body: Uint8Array;
  /** Holds the secrets that are known by value, to be removed from the body. */
  readonly secrets: readonly string[];
}

const MINUTE_MS = 60_000;
/**
 * Bounds the keys with their own counts in a minute; further keys share one count. Keys that are refused as unknown have a separate bound, so that
 * invented keys displace no caller's.
 */
const KEYS_MAX = 1_000;
const INVALID_KEYS_MAX = 100;
/** Bounds the incidents that wait for a report, which takes them in parts. */
const REFUSED_WAITING_MAX = 1_000;
const EXCERPTS_WAITING_MAX = 200;
const MODEL_CHARS_MAX = 128;

interface Minute {
  readonly begin: number;
  /** Maps keys to the number of completely stored requests. */
  readonly keptOf: Map<string, number>;
  invalidKeys: number;
}

/**
 * Collects incidents for the control plane: the first refused requests of each key and minute completely, all of them as counts, and the errors of
 * upstreams. A flood costs one map entry for each key and code, and what does not fit is counted.
 */
export class IncidentLog {
  readonly #now: () => number;
  readonly #keepsExcerpts: boolean;
  #minute: Minute = { begin: 0, keptOf: new Map(), invalidKeys: 0 };
  #refused: RefusedRequest[] = [];
  #excerpts: ErrorExcerpt[] = [];
  readonly #counts = new Map<string, RefusalCount>();

  /** `now` returns Unix ms. */
  constructor({ now, keepsExcerpts }: { now: () => number; keepsExcerpts: boolean }) {
    this.#now = now;
    this.#keepsExcerpts = keepsExcerpts;
  }

  refused({ rid, status, code, message, keyHashes, model }: RefusedAsking): void {
    const at = this.#now();
    const minute = this.#minuteAt(at);
    const key = keyHashes.join();
    const kept = minute.keptOf.get(key) ?? this.#newcomer(minute, code);
    this.#count(kept === null ? [] : keyHashes, { minute: minute.begin, status, code });
    if (kept === null) return;
    minute.keptOf.set(key, kept + 1);
    if (kept >= REFUSED_KEPT_MAX || this.#refused.length >= REFUSED_WAITING_MAX) return;
    this.#refused.push({
      rid,
      at,
      key_hashes: [...keyHashes],
      status,
      code: code.slice(0, 64),
      model: model === null ? null : beginOf(model, MODEL_CHARS_MAX),
      message: beginOf(message, REFUSED_MESSAGE_MAX),
    });
  }

  failed({ rid, accountId, upstreamId, place, status, body, secrets }: FailedAttempt): void {
    if (!this.#keepsExcerpts || this.#excerpts.length >= EXCERPTS_WAITING_MAX) return;
    const excerpt = excerptOf(body, { secrets, bytesMax: EXCERPT_BYTES_MAX });
    const names = { account_id: accountId, upstream_id: upstreamId };
    this.#excerpts.push({ rid, at: this.#now(), place, ...names, status, excerpt });
  }

  /** Returns what fits into one report; null when there is nothing to report. */
  take(): Incidents | null {
    const counts = [...this.#counts].slice(0, INCIDENTS_MAX.counts);
    for (const [slot] of counts) this.#counts.delete(slot);
    const refused = this.#refused.splice(0, INCIDENTS_MAX.refused);
    const excerpts = this.#excerpts.splice(0, INCIDENTS_MAX.excerpts);
    if (counts.length + refused.length + excerpts.length === 0) return null;
    return { refused, counts: counts.map(([, count]) => count), excerpts };
  }

  #minuteAt(at: number): Minute {
    const begin = at - (at % MINUTE_MS);
    if (this.#minute.begin !== begin) this.#minute = { begin, keptOf: new Map(), invalidKeys: 0 };
    return this.#minute;
  }

  /** Returns null when there is no room for a further key. */
  #newcomer(minute: Minute, code: string): 0 | null {
    if (minute.keptOf.size >= KEYS_MAX) return null;
    if (code !== 'invalid_api_key') return 0;
    minute.invalidKeys += 1;
    return minute.invalidKeys > INVALID_KEYS_MAX ? null : 0;
  }

  #count(
    keyHashes: readonly string[],
    { minute, status, code }: Pick<RefusalCount, 'minute' | 'status' | 'code'>,
  ): void {
    const slot = `${minute} ${status} ${code} ${keyHashes.join()}`;
    const known = this.#counts.get(slot);
    if (known) known.count += 1;
    else
      this.#counts.set(slot, {
        minute,
        key_hashes: [...keyHashes],
        status,
        code: code.slice(0, 64),
        count: 1,
      });
  }
}

/** A caller writes the model and parts of the message. */
function beginOf(text: string, charsMax: number): string {
  return withoutHiddenMarks(text.slice(0, charsMax), ' ').toWellFormed();
}
