/** Is one transaction of the model, from its beginning to its end. */
export class ModelTransaction {
  readonly id: number;
  /** Holds what `now()` says until its end. */
  readonly nowMs: number;
  readonly ended: Promise<void>;
  waitsFor: ModelTransaction | null = null;
  isEnded = false;
  hasWritten = false;
  readonly #resolve: () => void;
  #atEnd: ((isCommitted: boolean) => void)[] = [];

  constructor(id: number, nowMs: number) {
    this.id = id;
    this.nowMs = nowMs;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#resolve = resolve;
  }

  onEnd(act: (isCommitted: boolean) => void): void {
    this.#atEnd.push(act);
  }

  end(isCommitted: boolean): void {
    if (this.isEnded) return;
    this.isEnded = true;
    for (const act of this.#atEnd.splice(0)) act(isCommitted);
    this.#resolve();
  }

  /** Is true when waiting for `other` would be waiting for oneself. */
  wouldDeadlock(other: ModelTransaction): boolean {
    for (let next: ModelTransaction | null = other; next; next = next.waitsFor)
      if (next === this) return true;
    return false;
  }
}
