import { findMember, layoutObject } from './json-layout.ts';
import type { JsonLayout } from './json-layout.ts';
import { editObject } from './json-splice.ts';
import type { Patch } from './json-splice.ts';

/** A member by the names that lead to it; a JSON text sets its value, null removes it. */
export interface PathEdit {
  path: readonly string[];
  text: string | null;
}

/** The patches that edit members at any depth of an object. A path that leads through something else than objects is passed over. */
export function editPaths(
  bytes: Uint8Array,
  layout: JsonLayout,
  edits: readonly PathEdit[],
): Patch[] {
  const own = edits.filter(({ path }) => path.length === 1);
  const replaced = new Set(own.map(({ path }) => path[0]));
  const nested = Map.groupBy(
    edits.filter(({ path }) => path.length > 1 && !replaced.has(path[0])),
    ({ path }) => path[0] ?? '',
  );
  return [
    ...editObject(layout, Object.fromEntries(own.map(({ path, text }) => [path[0], text]))),
    ...[...nested].flatMap(([name, inner]) => {
      const member = findMember(layout, name);
      const inside = member && layoutObject(bytes, member.valueStart);
      const deeper = inner.map(({ path, text }) => ({ path: path.slice(1), text }));
      return inside ? editPaths(bytes, inside, deeper) : [];
    }),
  ];
}
