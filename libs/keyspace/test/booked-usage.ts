interface Row {
  kind: 'usage' | 'reap';
  delta: number;
  charge: number;
  /** Redis' own event has been seen. */
  isFromRedis: boolean;
}

export interface RelayedUsage {
  rid: string;
  seq: number;
  delta: number;
  kind: 'usage' | 'reap';
  /** Holds the charge of the final; 0 for a reap. */
  charge: number;
  epoch: string;
}

/** Restates how PostgreSQL books usage of one subscription, as far as "once" goes (control plane, features/usage/ingest/late-usage.sql.ts). */
export class BookedUsage {
  epoch = 'e1';
  credited = 0;
  /** Holds the credits by which Redis must still be moved. */
  readonly owed: number[] = [];
  readonly #rows = new Map<string, Row>();

  get position(): number {
    return [...this.#rows.values()].reduce((left, { delta }) => left - delta, this.credited);
  }

  chargedFor(rid: string): number {
    return [0, 1].reduce((sum, seq) => sum + (this.#rows.get(`${rid}:${seq}`)?.delta ?? 0), 0);
  }

  bookRelayed({ rid, seq, delta, kind, charge, epoch }: RelayedUsage): void {
    const isOfToday = epoch === this.epoch;
    const known = this.#rows.get(`${rid}:${seq}`);
    if (known) {
      // A journal had brought it, and Redis has debited it after all.
      if (isOfToday && !known.isFromRedis) this.owed.push(known.delta);
      known.isFromRedis ||= isOfToday;
      return;
    }
    const isSuperseded =
      kind === 'usage' && seq === 1 && this.#rows.get(`${rid}:0`)?.kind === 'usage';
    if (isSuperseded) return;
    this.#rows.set(`${rid}:${seq}`, { kind, delta, charge, isFromRedis: true });
    if (!isOfToday) this.owed.push(-delta);
  }

  /** Books a final that Redis answered `fenced`. */
  bookFinal({ rid, charge }: { rid: string; charge: number }): void {
    const [first, correction] = [this.#rows.get(`${rid}:0`), this.#rows.get(`${rid}:1`)];
    if (first && (first.kind === 'usage' || correction)) return;
    const row = first
      ? { seq: 1, kind: 'usage' as const, delta: charge - first.delta }
      : {
          seq: 0,
          kind: correction ? ('reap' as const) : ('usage' as const),
          delta: correction ? correction.charge - correction.delta : charge,
        };
    this.#rows.set(`${rid}:${row.seq}`, {
      kind: row.kind,
      delta: row.delta,
      charge,
      isFromRedis: false,
    });
    this.owed.push(-row.delta);
  }
}
