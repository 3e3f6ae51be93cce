import type { Logger } from 'pino';

/** Rights of a key that were seen longer ago may have been revoked since. */
const SEEN_MAX_MS = 300_000;
/** The balance must be at least this many times one request's hold. */
const BALANCE_PER_HOLD = 20;
/** Bounds the remembered keys, and models of each. Removing one early refuses its next request, as without fail-open. */
const KEYS_MAX = 10_000;
const MODELS_PER_KEY_MAX = 16;

/** Holds an admission of Redis that may justify later ones. */
export interface SeenAdmission {
  accountId: number;
  keyHash: string;
  modelId: number;
  /** Is the address from which it came; the key's allow-list is in Redis. */
  addressHex: string;
  keyId: number;
  subscriptionId: number;
  generation: number;
  epoch: string;
  /** Is the number of charged tokens left after the hold. */
  availableTokens: number;
  /** Is the expiry of the key in Unix ms; 0 means never. */
  expiresAtMs: number;
}

type Seen = SeenAdmission & { atMs: number };

export interface LoneRequest {
  rid: string;
  keyHash: string;
  modelId: number;
  addressHex: string;
  /** Counts the charged tokens of its hold. */
  tokens: number;
}

export type LoneGrant = Pick<SeenAdmission, 'keyId' | 'subscriptionId' | 'generation' | 'epoch'> & {
  /** A key with budgets is never served without Redis. */
  claims: '';
  grantedTokens: number;
};

export interface FailOpenOptions {
  /** Bounds the charged tokens that a subscription may use of this process without Redis' knowledge; 0 turns fail-open off. */
  allowanceTokens: number;
  log: Pick<Logger, 'warn'>;
  /** Is a monotonic clock, for the time since a key was seen. */
  now: () => number;
  /** Returns the time for the expiry of keys. */
  unixNow: () => number;
}

/** Serves without Redis, within a bound (docs/design/metering.md#overspend-bound; off by default). A request is admitted by this process alone when Redis admitted the same key to the same model a moment ago, with plenty left, and the subscription's allowance covers its hold. Its use counts against the allowance until Redis has taken its final, so a process never spends more than the allowance of a subscription unseen. */
export class FailOpen {
  readonly #options: FailOpenOptions;
  /** Maps keys to models; the key that was unused longest is first. */
  readonly #seen = new Map<string, Map<number, Seen>>();
  /** Maps requests to tokens that Redis does not know of. */
  readonly #unseen = new Map<string, { subscriptionId: number; tokens: number }>();
  /** Sums the tokens that Redis does not know of, by subscription. */
  readonly #spent = new Map<number, number>();
  #admissions = 0;

  constructor(options: FailOpenOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#options.allowanceTokens > 0;
  }

  /** Shows the operator the requests that were admitted without Redis since the start, and the tokens that Redis does not know of yet. */
  get state(): { admissions: number; tokens: number } {
    return {
      admissions: this.#admissions,
      tokens: [...this.#spent.values()].reduce((sum, tokens) => sum + tokens, 0),
    };
  }

  /** Remembers that Redis admitted a request of a key without rate limits. */
  remember(admission: SeenAdmission): void {
    const { keyHash, modelId } = admission;
    const models = this.#seen.get(keyHash) ?? new Map<number, Seen>();
    models.delete(modelId);
    models.set(modelId, { ...admission, atMs: this.#options.now() });
    this.#seen.delete(keyHash);
    this.#seen.set(keyHash, models);
    forgetOldest(models, MODELS_PER_KEY_MAX);
    forgetOldest(this.#seen, KEYS_MAX);
  }

  /** Forgets a key that Redis refused or limits: nothing is known that could replace Redis' answer. */
  forget(keyHash: string): void {
    this.#seen.delete(keyHash);
  }

  /** Returns true if this key was recently served from this address, for any model. */
  knows({ keyHash, addressHex }: Pick<LoneRequest, 'keyHash' | 'addressHex'>): boolean {
    const models = this.isOn ? this.#seen.get(keyHash) : undefined;
    return [...(models?.values() ?? [])].some(
      (seen) => seen.addressHex === addressHex && this.#isFresh(seen),
    );
  }

  /** Returns true if anything could be served now. It drops entries that are too old: keys are in the order of their last admission. */
  knowsAny(): boolean {
    for (const [keyHash, models] of this.#seen) {
      if ([...models.values()].some((seen) => this.#isFresh(seen))) return this.isOn;
      this.#seen.delete(keyHash);
    }
    return false;
  }

  /** Returns null to refuse. */
  admit({ rid, keyHash, modelId, addressHex, tokens }: LoneRequest): LoneGrant | null {
    const seen = this.isOn ? this.#seen.get(keyHash)?.get(modelId) : undefined;
    if (!seen || seen.addressHex !== addressHex || !this.#isFresh(seen)) return null;
    const spent = this.#spent.get(seen.subscriptionId) ?? 0;
    if (
      spent + tokens > this.#options.allowanceTokens ||
      seen.availableTokens - spent <= BALANCE_PER_HOLD * tokens
    )
      return null;
    if (this.#unseen.size === 0)
      this.#options.log.warn(
        { account_id: seen.accountId, allowance_tokens: this.#options.allowanceTokens },
        'Redis does not answer: this node admits requests on its own, within the fail-open allowance',
      );
    this.#unseen.set(rid, { subscriptionId: seen.subscriptionId, tokens: 0 });
    this.#count(rid, tokens);
    this.#admissions += 1;
    const { keyId, subscriptionId, generation, epoch } = seen;
    return { keyId, subscriptionId, generation, epoch, claims: '', grantedTokens: tokens };
  }

  /** Replaces its hold by its charge. */
  ended(rid: string, charge: number): void {
    this.#count(rid, charge);
  }

  /** Its final is in Redis or in PostgreSQL. */
  taken(rid: string): void {
    this.#count(rid, 0);
    if (this.#unseen.delete(rid) && this.#unseen.size === 0)
      this.#options.log.warn(
        { admissions: this.#admissions },
        'all usage that was admitted without Redis is settled',
      );
  }

  #isFresh({ atMs, expiresAtMs }: Seen): boolean {
    const now = this.#options.now();
    return (
      now - atMs <= SEEN_MAX_MS && (expiresAtMs === 0 || expiresAtMs > this.#options.unixNow())
    );
  }

  #count(rid: string, tokens: number): void {
    const unseen = this.#unseen.get(rid);
    if (!unseen) return;
    const spent = (this.#spent.get(unseen.subscriptionId) ?? 0) + tokens - unseen.tokens;
    unseen.tokens = tokens;
    if (spent > 0) this.#spent.set(unseen.subscriptionId, spent);
    else this.#spent.delete(unseen.subscriptionId);
  }
}

/** Maps keep the order of insertion. */
function forgetOldest(entries: Map<unknown, unknown>, entriesMax: number): void {
  const [oldest] = entries.keys();
  if (entries.size > entriesMax) entries.delete(oldest);
}
