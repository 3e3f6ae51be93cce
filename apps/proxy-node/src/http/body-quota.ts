import { Refusal, retryHeaders } from '../refusals.ts';

/** A node holds at most this many bodies of the largest size. Reading and parsing one takes about three times its bytes. */
const LARGEST_BODIES = 16;
const RETRY_MS = 1_000;

export interface TakeQuota {
  /** Takes room for this many more bytes. It throws Refusal when there is none. */
  (bytes: number): void;
  /**
   * Resolves, when no other large body of the account is being decoded, with a function that ends this turn. Bodies that are decoded at the same time
   * would each take a part of the room and refuse one another; one after another, as many as fit succeed.
   */
  turn?(): Promise<() => void>;
}

/**
 * Provides room for large request bodies, which all requests of a process share: each body is kept to its end, and many would exhaust the memory. An
 * account's first body only needs to fit. With further bodies an account may hold as much as they leave free: one account alone half of the room, two
 * a third each. The uploads of one account, however slow, therefore do not block others.
 */
export class BodyQuota {
  readonly #bytesMax: number;
  readonly #ofAccounts = new Map<number, number>();
  /** Maps accounts to the end of their last turn. */
  readonly #turns = new Map<number, Promise<void>>();
  #bytes = 0;

  constructor(bodyBytesMax: number) {
    this.#bytesMax = LARGEST_BODIES * bodyBytesMax;
  }

  enter(): QuotaOfRequest {
    return new QuotaOfRequest(this);
  }

  /** `taken` is what the same request took before. */
  take(accountId: number, { bytes, taken }: { bytes: number; taken: number }): void {
    const own = this.#ofAccounts.get(accountId) ?? 0;
    const free = this.#bytesMax - this.#bytes - bytes;
    if (free < 0) throw full();
    if (own > taken && own + bytes > free) throw tooManyOfOne();
    this.#ofAccounts.set(accountId, own + bytes);
    this.#bytes += bytes;
  }

  /** See `TakeQuota`. */
  async turn(accountId: number): Promise<() => void> {
    const before = this.#turns.get(accountId);
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const mine = before ? before.then(() => over) : over;
    this.#turns.set(accountId, mine);
    void mine.then(() => {
      if (this.#turns.get(accountId) === mine) this.#turns.delete(accountId);
    });
    await before;
    return end;
  }

  giveBack(accountId: number, bytes: number): void {
    const left = (this.#ofAccounts.get(accountId) ?? 0) - bytes;
    if (left > 0) this.#ofAccounts.set(accountId, left);
    else this.#ofAccounts.delete(accountId);
    this.#bytes -= bytes;
  }
}

/** Holds the room of one request. Only known callers get a share, so that an unknown one takes none. */
export class QuotaOfRequest {
  readonly #quota: BodyQuota;
  #owner = 0;
  #taken = 0;

  constructor(quota: BodyQuota) {
    this.#quota = quota;
  }

  takeFor(accountId: number): TakeQuota {
    this.#owner = accountId;
    const take = (bytes: number): void => {
      this.#quota.take(accountId, { bytes, taken: this.#taken });
      this.#taken += bytes;
    };
    return Object.assign(take, { turn: () => this.#quota.turn(accountId) });
  }

  /** Returns all room that the request holds. */
  leave(): void {
    if (this.#taken > 0) this.#quota.giveBack(this.#owner, this.#taken);
    this.#taken = 0;
  }
}

const HEADERS = retryHeaders(RETRY_MS);

function tooManyOfOne(): Refusal {
  return new Refusal('uploads_exceeded', { headers: HEADERS });
}

function full(): Refusal {
  return new Refusal('not_serving', {
    detail: 'This node holds as many large requests as it can; try again shortly.',
    headers: HEADERS,
  });
}
