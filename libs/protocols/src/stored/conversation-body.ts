import { parseStoredBody } from '../ask/parse-ask.ts';
import type { StoredIds } from '../exchange.ts';
import { fileRefused, fileReference } from '../fields/file-reference.ts';
import { editPaths } from '../json/edit-paths.ts';
import { applyPatches } from '../json/json-splice.ts';
import { openedItems, type StoredReference } from './references.ts';

/**
 * What a conversation is made of or gets more of, as its upstream takes it: with native ids. `strange`: the first reference to what is not stored for its
 * caller there. Throws `InvalidRequest`, also for files by id where `passesFiles` is false.
 */
export function conversationBody(
  raw: Uint8Array,
  { ids, passesFiles }: { ids: StoredIds; passesFiles: boolean },
): { bytes: Uint8Array; strange: StoredReference | null } {
  if (raw.length === 0) return { bytes: raw, strange: null };
  const { body, layout } = parseStoredBody(raw);
  const file = passesFiles ? null : fileReference({ protocol: 'responses', body }, 'items');
  if (file) throw fileRefused(file);
  const { edits, strange } = openedItems(body, ids);
  return { bytes: applyPatches(raw, editPaths(raw, layout, edits)), strange };
}
