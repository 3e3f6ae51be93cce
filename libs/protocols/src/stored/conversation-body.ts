import { readBody } from '../ask/read-body.ts';
import type { InvalidRequest, StoredIds } from '../exchange.ts';
import type { DroppedField } from '../fields/found-field.ts';
import { unknownFields } from '../fields/known-fields.ts';
import { fileRefused, fileReference } from '../fields/file-reference.ts';
import { serverTools } from '../fields/server-tools.ts';
import { editPaths, withoutFields } from '../json/edit-paths.ts';
import { applyPatches } from '../json/json-splice.ts';
import { unsupportedHere } from '../errors/unsupported.ts';
import { openedItems, type StoredReference } from './references.ts';

/** Describes the upstream that stores the conversation. */
export interface KeptBy {
  ids: StoredIds;
  passesFiles: boolean;
  /** Is true when it takes only known fields. */
  isKnownOnly: boolean;
}

export interface ConversationBody {
  bytes: Uint8Array;
  strange: StoredReference | null;
  dropped: readonly DroppedField[];
}

/**
 * Returns the items for a new or existing conversation in the upstream's form, with native ids. `strange` is the first reference to an object that is
 * not stored for its caller there. It throws `InvalidRequest`, also for files by id where `passesFiles` is false.
 */
export function conversationBody(
  raw: Uint8Array,
  { ids, passesFiles, isKnownOnly }: KeptBy,
): ConversationBody {
  if (raw.length === 0) return { bytes: raw, strange: null, dropped: [] };
  const { body, layout } = readBody(raw);
  const file = passesFiles ? null : fileReference({ protocol: 'responses', body }, 'items');
  if (file) throw fileRefused(file);
  const [tool] = serverTools(body);
  if (tool) throw toolRefused(tool.param);
  const { edits, strange } = openedItems(body, ids);
  const dropped = isKnownOnly ? unknownFields({ protocol: 'conversations', body }) : [];
  const all = [...edits, ...withoutFields(dropped)];
  return { bytes: applyPatches(raw, editPaths(raw, layout, all)), strange, dropped };
}

/** A request that continues the conversation would use the tool without its price. */
function toolRefused(param: string): InvalidRequest {
  return unsupportedHere(param, param, "name a tool of the provider in the request's own tools");
}
