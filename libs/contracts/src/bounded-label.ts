/** All values beyond the maximum share this label. */
export const OTHER_LABEL = '_other';

/**
 * Limits a metric's label to a number of values, so that a scrape stays small in any installation: the first values keep their own label, the others
 * share `_other`.
 */
export class BoundedLabel {
  readonly #known = new Set<string>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  of(value: string): string {
    if (this.#known.has(value)) return value;
    if (this.#known.size >= this.#max) return OTHER_LABEL;
    this.#known.add(value);
    return value;
  }
}
