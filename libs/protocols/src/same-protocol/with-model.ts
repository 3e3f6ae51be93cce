import { layoutObject } from '../json/json-layout.ts';
import { applyPatches, editObject } from '../json/json-splice.ts';

/** The body with its `model` replaced and no other byte changed. */
export function withModel(body: Uint8Array, model: string): Uint8Array {
  const layout = layoutObject(body);
  return layout ? applyPatches(body, editObject(layout, { model: JSON.stringify(model) })) : body;
}
