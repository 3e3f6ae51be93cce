import type { ParsedApiKey } from '@tollgate/contracts';
import type { RateName } from '@tollgate/keyspace';
import type { Refusal } from '../../refusals.ts';

/** Is no longer, because the message that a limit was raised may be lost. */
const REMEMBER_MS_MAX = 1_000;

/** Identifies a caller and the model that it asks for. */
export interface Asking {
  keyHash: string;
  accountId: number;
  model: string;
}

/** Returns what denials of a request are remembered by. */
export function askingOf(
  { hash: keyHash, accountId }: Pick<ParsedApiKey, 'hash' | 'accountId'>,
  { model }: { model: { name: string } },
): Asking {
  return { keyHash, accountId, model: model.name };
}

interface Denial {
  refusal: Refusal;
  until: number;
}

/**
 * Remembers rate denials for a moment, to keep a client that hammers on its limit from Redis. It keeps only rate denials: a refusal for funds
 * or status must be asked again each time. It keeps none longer than the exact wait. A rate of an account denies all its keys; one for some
 * models denies no other model.
 */
export class DenyCache {
  /** Keeps denials by key or account, and below it by model; '' = all models. */
  readonly #denials = new Map<string, Map<string, Denial>>();
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /** Counts the keys and accounts that are known as refused. */
  get size(): number {
    return this.#denials.size;
  }

  get({ keyHash, accountId, model }: Asking, now: number): Refusal | undefined {
    if (this.#denials.size === 0) return undefined;
    return this.#of(keyHash, model, now) ?? this.#of(String(accountId), model, now);
  }

  /** The key's record was changed: its limits may be others now. */
  forget(keyHash: string): void {
    this.#denials.delete(keyHash);
  }

  set(
    { keyHash, accountId, model }: Asking,
    {
      rate,
      refusal,
      retryAfterMs,
      now,
    }: {
      rate: Pick<RateName, 'owner' | 'models'>;
      refusal: Refusal;
      retryAfterMs: number;
      now: number;
    },
  ): void {
    const owner = rate.owner === 'key' ? keyHash : String(accountId);
    const known = this.#denials.get(owner);
    if (!known && this.#denials.size >= this.#entriesMax) {
      const [oldest] = this.#denials.keys();
      if (oldest !== undefined) this.#denials.delete(oldest);
    }
    const denials = known ?? new Map<string, Denial>();
    denials.set(rate.models === '' ? '' : model, {
      refusal,
      until: now + Math.min(retryAfterMs, REMEMBER_MS_MAX),
    });
    this.#denials.set(owner, denials);
  }

  #of(owner: string, model: string, now: number): Refusal | undefined {
    const denials = this.#denials.get(owner);
    if (!denials) return undefined;
    for (const place of ['', model]) {
      const denial = denials.get(place);
      if (!denial) continue;
      if (denial.until > now) return denial.refusal;
      denials.delete(place);
    }
    if (denials.size === 0) this.#denials.delete(owner);
    return undefined;
  }
}
