/** Is one measured quantity: a sample per round; less is better unless the unit says otherwise. */
export interface Figure {
  name: string;
  unit: string;
  /** Ratios of CPU time are what `--check` judges. */
  isCpuRatio: boolean;
  samples: number[];
}

export class Figures {
  readonly #figures = new Map<string, Figure>();

  add(name: string, unit: string, sample: number): void {
    this.#add({ name, unit, isCpuRatio: false }, sample);
  }

  /** Adds the CPU time of what is measured over that of the bare proxy in the same round. */
  addRatio(name: string, sample: number): void {
    this.#add({ name, unit: 'x bare', isCpuRatio: true }, sample);
  }

  get all(): readonly Figure[] {
    return [...this.#figures.values()];
  }

  #add(figure: Omit<Figure, 'samples'>, sample: number): void {
    const known = this.#figures.get(figure.name);
    if (known) known.samples.push(sample);
    else this.#figures.set(figure.name, { ...figure, samples: [sample] });
  }
}

export function medianOf(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/**
 * Writes Markdown: the median of each figure and its spread, with another column for each set, and for several sets the first over each other: the median of
 * the rounds' ratios, as the machine's speed changes from round to round.
 */
export function describeFigures(sets: ReadonlyMap<string, readonly Figure[]>): string {
  const columns = [...sets.keys()];
  const names = new Set([...sets.values()].flat().map(({ name }) => name));
  const lines = [...names].map((name) => {
    const figures = columns.map((label) => sets.get(label)?.find((figure) => figure.name === name));
    const cells = [
      ...figures.map(cellOf),
      ...figures.slice(1).map((other) => cellOf(ratioOf(figures[0], other))),
    ];
    return `| ${name} | ${cells.join(' | ')} |`;
  });
  const titles = [...columns, ...columns.slice(1).map((other) => `over ${other}`)];
  return [
    `| Figure | ${titles.join(' | ')} |`,
    `| --- | ${titles.map(() => '---').join(' | ')} |`,
    ...lines,
  ].join('\n');
}

/** Compares round by round; returns undefined when a set lacks a round, or one was zero. */
function ratioOf(own: Figure | undefined, other: Figure | undefined): Figure | undefined {
  if (!own || !other || own.samples.length !== other.samples.length) return undefined;
  const samples = own.samples.map((sample, round) => sample / (other.samples[round] ?? 0));
  return samples.every(Number.isFinite) ? { ...own, unit: 'x', samples } : undefined;
}

function cellOf(figure: Figure | undefined): string {
  if (!figure) return '';
  const { samples, unit } = figure;
  const text = rounded(medianOf(samples));
  const spread =
    samples.length > 1
      ? ` (${rounded(Math.min(...samples))}-${rounded(Math.max(...samples))})`
      : '';
  return `${text}${spread} ${unit}`;
}

function rounded(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

export function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
