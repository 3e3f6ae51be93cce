/** Colours of charts: the same thing has the same colour on every page. Classes are written out, because they are found by reading. */
const FILLS = [
  'fill-series-1',
  'fill-series-2',
  'fill-series-3',
  'fill-series-4',
  'fill-series-5',
  'fill-series-6',
  'fill-series-7',
  'fill-series-8',
] as const;
const OTHER = 'fill-series-other';

export type SeriesColor = number | 'other';

/** Returns the colour of a model, key, user or upstream by its id. Ids follow each other, so neighbours differ. */
export function colorOf(id: number | null | undefined): SeriesColor {
  return id === null || id === undefined ? 'other' : (id - 1) % FILLS.length;
}

export function fillOf(color: SeriesColor): string {
  return color === 'other' ? OTHER : (FILLS[color] ?? OTHER);
}

/** Returns the colour as canvas understands it, in the theme that is on. */
export function paintOf(color: SeriesColor): string {
  const name = color === 'other' ? 'other' : String(color + 1);
  return getComputedStyle(document.documentElement).getPropertyValue(`--series-${name}`);
}

export function paintOfToken(name: 'line' | 'text-3' | 'surface'): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
}
