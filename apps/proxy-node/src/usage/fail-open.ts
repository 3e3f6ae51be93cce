import type { Logger } from 'pino';

/** A right that a key had longer ago may have been taken from it since. */
const SEEN_MAX_MS = 300_000;
/** One request must be small against what was left when Redis last answered. */
const BALANCE_PER_HOLD = 20;
/** Keys remembered, and models of each: forgetting one early refuses its next request, as without fail-open. */
const KEYS_MAX = 10_000;
const MODELS_PER_KEY_MAX = 16;

/** An admission of Redis as far as it can stand for later ones. */
export interface SeenAdmission {
  accountId: number;
  keyHash: string;
  modelId: number;
  /** From which it came: the key's allow-list is in Redis. */
  addressHex: string;
  keyId: number;
  subscriptionId: number;
  generation: number;
  epoch: string;
  /** Left after the hold, charged tokens. */
  availableTokens: number;
  /** The expiry of the key, Unix ms; 0 = never. */
  expiresAtMs: number;
}

type Seen = SeenAdmission & { atMs: number };

export interface LoneRequest {
  rid: string;
  keyHash: string;
  modelId: number;
  addressHex: string;
  /** Its hold, charged tokens. */
  tokens: number;
}

export type LoneGrant = Pick<SeenAdmission, 'keyId' | 'subscriptionId' | 'generation' | 'epoch'> & {
  /** A key with budgets is not served alone. */
  claims: '';
  grantedTokens: number;
};

export interface FailOpenOptions {
  /** Charged tokens a subscription may use of this process that Redis does not know of; 0 = off. */
  allowanceTokens: number;
  log: Pick<Logger, 'warn'>;
  /** Monotonic, for how long ago a key was seen. */
  now: () => number;
  /** For the moment at which a key expires. */
  unixNow: () => number;
}

/**
 * Serving without Redis, within a bound (docs/design/metering.md#overspend-bound; off by default). A request is admitted by this process alone when Redis admitted the same key
 * to the same model a moment ago, with plenty left, and the subscription's allowance covers its hold. What it uses counts against the allowance until
 * Redis has taken its final, so per process and subscription never more than the allowance is spent unseen.
 */
export class FailOpen {
  readonly #options: FailOpenOptions;
  /** By key, longest unused first, then by model. */
  readonly #seen = new Map<string, Map<number, Seen>>();
  /** Tokens that Redis does not know of, by request. */
  readonly #unseen = new Map<string, { subscriptionId: number; tokens: number }>();
  /** The same, summed by subscription. */
  readonly #spent = new Map<number, number>();
  #admissions = 0;

  constructor(options: FailOpenOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#options.allowanceTokens > 0;
  }

  /** For the operator: requests admitted alone since the start, and tokens that Redis does not know of yet. */
  get state(): { admissions: number; tokens: number } {
    return {
      admissions: this.#admissions,
      tokens: [...this.#spent.values()].reduce((sum, tokens) => sum + tokens, 0),
    };
  }

  /** Redis admitted a request of a key without rate limits. */
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

  /** Redis refused this key, or limits its rate: nothing is known of it that could stand for Redis. */
  forget(keyHash: string): void {
    this.#seen.delete(keyHash);
  }

  /** Returns true if this key was served from this address a moment ago, for any model. */
  knows({ keyHash, addressHex }: Pick<LoneRequest, 'keyHash' | 'addressHex'>): boolean {
    const models = this.isOn ? this.#seen.get(keyHash) : undefined;
    return [...(models?.values() ?? [])].some(
      (seen) => seen.addressHex === addressHex && this.#isFresh(seen),
    );
  }

  /** Returns true if anything could be served now. Entries that are too old are dropped on the way: keys are in the order of their last admission. */
  knowsAny(): boolean {
    for (const [keyHash, models] of this.#seen) {
      if ([...models.values()].some((seen) => this.#isFresh(seen))) return this.isOn;
      this.#seen.delete(keyHash);
    }
    return false;
  }

  /** Null: refuse. */
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

  /** Its hold gives way to what it cost. */
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
