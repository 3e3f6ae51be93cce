interface Subscription {
  readonly accountId: number;
  readonly modelId: number;
}

/** Counts the finals of each subscription that wait for their first call of `settle`. */
export class UnsentFinals {
  readonly #counts = new Map<string, number>();

  add(final: Subscription): void {
    const name = nameOf(final);
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  remove(final: Subscription): void {
    const name = nameOf(final);
    const left = (this.#counts.get(name) ?? 0) - 1;
    if (left > 0) this.#counts.set(name, left);
    else this.#counts.delete(name);
  }

  countOf(subscription: Subscription): number {
    return this.#counts.size === 0 ? 0 : (this.#counts.get(nameOf(subscription)) ?? 0);
  }
}

function nameOf({ accountId, modelId }: Subscription): string {
  return `${accountId}:${modelId}`;
}
