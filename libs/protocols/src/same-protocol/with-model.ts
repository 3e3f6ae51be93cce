import { findMember, layoutObject } from '../json/json-layout.ts';
import { applyPatches, editObject } from '../json/json-splice.ts';

/** The body with its `model`, if it has one, replaced and no other byte changed. */
export function withModel(body: Uint8Array, model: string): Uint8Array {
  const layout = layoutObject(body);
  return layout && findMember(layout, 'model')
    ? applyPatches(body, editObject(layout, { model: JSON.stringify(model) }))
    : body;
}
