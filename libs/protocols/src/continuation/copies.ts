import type { Token } from './tokens.ts';

/** Returns for each delivered token how many tokens from there the beginning repeats: the Z-function, in linear time. */
export function copiesOf(had: readonly Token[], said: readonly Token[]): Int32Array {
  const ids = new Map<string, number>();
  const idOf = ({ word }: Token): number => {
    const id = ids.get(word) ?? ids.size + 1;
    ids.set(word, id);
    return id;
  };
  const all = Int32Array.from([...said.map(idOf), 0, ...had.map(idOf)]);
  return zOf(all).slice(said.length + 1);
}

function zOf(all: Int32Array): Int32Array {
  const z = new Int32Array(all.length);
  for (let at = 1, left = 0, right = 0; at < all.length; at += 1) {
    let length = at < right ? Math.min(right - at, z[at - left] ?? 0) : 0;
    while (at + length < all.length && all[length] === all[at + length]) length += 1;
    z[at] = length;
    if (at + length > right) [left, right] = [at, at + length];
  }
  return z;
}
