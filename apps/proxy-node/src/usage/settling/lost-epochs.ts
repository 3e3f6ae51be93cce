/** Bounds the epochs; removing one costs each of its holds one more checkpoint. */
const EPOCHS_MAX = 1_000;

/** Holds the epochs that are known to be lost. */
export class LostEpochs {
  readonly #epochs = new Set<string>();

  add(epoch: string): void {
    this.#epochs.add(epoch);
    const [oldest] = this.#epochs;
    if (this.#epochs.size > EPOCHS_MAX && oldest !== undefined) this.#epochs.delete(oldest);
  }

  has(epoch: string): boolean {
    return this.#epochs.has(epoch);
  }

  delete(epoch: string): void {
    this.#epochs.delete(epoch);
  }
}
