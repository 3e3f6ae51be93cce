import type { Model, Price } from '../../api/catalogue.ts';

export const SORTS = [
  'name',
  '-name',
  'price',
  '-price',
  'context',
  '-context',
  'output',
  '-output',
] as const;

export type Prices = ReadonlyMap<number, Price>;

/** Returns what a model is ordered by; null where it has none, which stands last either way. The list is here whole, so the server need not order it. */
const ORDERS: Record<string, (model: Model, prices: Prices) => string | number | null> = {
  name: ({ name }) => name,
  price: ({ id }, prices) => {
    const price = prices.get(id);
    return price ? Number(price.price_per_million) : null;
  },
  context: ({ context_window: count }) => count,
  output: ({ max_output_tokens: count }) => count,
};

export function inOrder(rows: readonly Model[], sort: string, prices: Prices): readonly Model[] {
  const isDown = sort.startsWith('-');
  const of = ORDERS[isDown ? sort.slice(1) : sort];
  if (!of) return rows;
  return rows.toSorted((one, other) => {
    const [a, b] = [of(one, prices), of(other, prices)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const order = typeof a === 'string' ? a.localeCompare(String(b)) : a - Number(b);
    return isDown ? -order : order;
  });
}
