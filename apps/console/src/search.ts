/** Holds what an address says behind its `?`. It has numbers and text only, so that a copied address reads well. */
export type Search = Readonly<Record<string, string | number | boolean | undefined>>;

export function buildSearch(search: Search): string {
  const pairs = Object.entries(search).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)] as [string, string]],
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}
