import { findMember, layoutArray, layoutObject } from './json-layout.ts';
import type { JsonLayout } from './json-layout.ts';
import { editObject } from './json-splice.ts';
import type { Patch } from './json-splice.ts';

/** Names a member by the keys that lead to it, with the index for items of arrays. A JSON text sets its value, null removes it. */
export interface PathEdit {
  path: readonly string[];
  text: string | null;
}

export function withoutFields(fields: readonly Pick<PathEdit, 'path'>[]): PathEdit[] {
  return fields.map(({ path }) => ({ path, text: null }));
}

const NO_PATCHES: readonly Patch[] = [];

/** Returns the patches that edit members at any depth of an object. A path through anything else is skipped. */
export function editPaths(
  bytes: Uint8Array,
  layout: JsonLayout,
  edits: readonly PathEdit[],
): readonly Patch[] {
  if (edits.length === 0) return NO_PATCHES;
  const own = edits.filter(({ path }) => path.length === 1);
  const members: Record<string, string | null> = Object.create(null);
  for (const { path, text } of own) members[path[0] ?? ''] = text;
  const patches = editObject(layout, members);
  // Nearly every request and answer ends here: no edit goes deeper.
  if (own.length === edits.length) return patches;
  const replaced = new Set(own.map(({ path }) => path[0]));
  const nested = edits.filter(({ path }) => path.length > 1 && !replaced.has(path[0]));
  return [
    ...patches,
    ...insideEach(nested, (name, deeper) => {
      const member = findMember(layout, name);
      return member ? editInside(bytes, member.valueStart, deeper) : [];
    }),
  ];
}

function editInside(
  bytes: Uint8Array,
  start: number,
  edits: readonly PathEdit[],
): readonly Patch[] {
  const inside = layoutObject(bytes, start);
  if (inside) return editPaths(bytes, inside, edits);
  const items = layoutArray(bytes, start);
  return insideEach(edits, (index, deeper) => {
    const item = items[Number(index)];
    return item ? editInside(bytes, item.start, deeper) : [];
  });
}

function insideEach(
  edits: readonly PathEdit[],
  edit: (name: string, deeper: PathEdit[]) => readonly Patch[],
): Patch[] {
  const byName = Map.groupBy(edits, ({ path }) => path[0] ?? '');
  return [...byName].flatMap(([name, inner]) =>
    edit(
      name,
      inner
        .map(({ path, text }) => ({ path: path.slice(1), text }))
        .filter(({ path }) => path.length > 0),
    ),
  );
}
