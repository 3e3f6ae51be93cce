import type { PathEdit } from './edit-paths.ts';
import { editPaths } from './edit-paths.ts';
import { findMember, layoutObject } from './json-layout.ts';
import { applyPatches } from './json-splice.ts';

/** Returns the body with its `model`, if it has one, replaced and these members edited, and no other byte changed. */
export function withModel(
  body: Uint8Array,
  model: string,
  edits: readonly PathEdit[] = [],
): Uint8Array {
  const layout = layoutObject(body);
  if (!layout) return body;
  const named = findMember(layout, 'model')
    ? [{ path: ['model'], text: JSON.stringify(model) }]
    : [];
  return applyPatches(body, editPaths(body, layout, [...named, ...edits]));
}
