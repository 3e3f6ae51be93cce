import type { UsageFinal } from '@tollgate/contracts';

type Owner = Pick<UsageFinal, 'account_id' | 'model_id'>;

/** Counts the finals of each subscription that wait for their first call of `settle`. */
export class UnsentFinals {
  readonly #counts = new Map<string, number>();

  add(final: Owner): void {
    const name = nameOf(final);
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  remove(final: Owner): void {
    const name = nameOf(final);
    const left = (this.#counts.get(name) ?? 0) - 1;
    if (left > 0) this.#counts.set(name, left);
    else this.#counts.delete(name);
  }

  countOf({ accountId, modelId }: { accountId: number; modelId: number }): number {
    if (this.#counts.size === 0) return 0;
    return this.#counts.get(nameOf({ account_id: accountId, model_id: modelId })) ?? 0;
  }
}

function nameOf({ account_id: accountId, model_id: modelId }: Owner): string {
  return `${accountId}:${modelId}`;
}
