import { isSealedId } from '@tollgate/contracts';
import { THREAD_NOT_FOUND } from '../errors/thread-details.ts';
import { upstreamError } from '../errors/upstream-error.ts';
import type { Ask, StoredIds, UpstreamError } from '../exchange.ts';
import type { PathEdit } from '../json/edit-paths.ts';
import { isRecord, list, nonEmpty, record, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { containersIn } from './containers.ts';
import { isItemReference } from '../ask/item-reference.ts';

/** Names an object that a provider has stored, as a request refers to it. */
export interface StoredReference {
  path: readonly string[];
  id: string;
  /** Is true for an item of the input, which other upstreams' answers may name, too. */
  isItem: boolean;
}

/** Names the member of a body that contains its items: of a request, or of a conversation. */
type ItemsOf = 'input' | 'items';

/** Returns the objects that the request's upstream must have stored itself, or keep for its account. */
export function storedReferences({
  protocol,
  body,
}: Pick<Ask, 'protocol' | 'body'>): StoredReference[] {
  switch (protocol) {
    case 'responses':
      return ofResponses(body);
    case 'messages':
      return [
        ...idOrHolder(body, 'container'),
        ...reference(record(body['thread'])['previous_message_id'], PREVIOUS_MESSAGE),
      ];
    case 'chat':
      return list(body['messages']).flatMap((message, at) =>
        reference(record(record(message)['audio'])['id'], ['messages', String(at), 'audio', 'id']),
      );
    default:
      return [];
  }
}

const PREVIOUS_MESSAGE = ['thread', 'previous_message_id'];

/** Returns true when the request refers to stored objects, or has items that may. */
export function namesStored(ask: Pick<Ask, 'protocol' | 'body'>): boolean {
  const isSealed = (item: unknown): boolean => isSealedId(text(record(item)['id']) ?? '');
  return storedReferences(ask).length > 0 || list(ask.body['input']).some(isSealed);
}

function ofResponses(body: JsonRecord): StoredReference[] {
  const { previous_response_id: previous, prompt_cache_options: cache, tools } = body;
  const compared = ['prompt_cache_options', 'comparison_response_id'];
  return [
    ...reference(previous, ['previous_response_id']),
    ...idOrHolder(body, 'conversation'),
    ...reference(record(cache)['comparison_response_id'], compared),
    ...containersIn(tools, ['tools']).map((container) => ({ ...container, isItem: false })),
    ...ofItems(body, 'input'),
  ];
}

function ofItems(body: JsonRecord, name: ItemsOf): StoredReference[] {
  const items = body[name];
  return [
    ...list(items).flatMap((value, at) => itemReference(record(value), [name, String(at)])),
    ...containersIn(items, [name]).map((container) => ({ ...container, isItem: true })),
  ];
}

/** The reference is an id alone, or an object with the id. */
function idOrHolder(body: JsonRecord, name: string): StoredReference[] {
  const holder = body[name];
  return isRecord(holder) ? reference(holder['id'], [name, 'id']) : reference(holder, [name]);
}

function reference(value: unknown, path: readonly string[]): StoredReference[] {
  const id = nonEmpty(value);
  return id === null ? [] : [{ path, id, isItem: false }];
}

function itemReference(item: JsonRecord, path: readonly string[]): StoredReference[] {
  const member = isItemReference(item) ? 'id' : REFERRING[text(item['type']) ?? ''];
  const id = member === undefined ? null : nonEmpty(item[member]);
  return member === undefined || id === null ? [] : [{ path: [...path, member], id, isItem: true }];
}

/** Maps items that represent a stored one to the member that names it. */
const REFERRING: Readonly<Record<string, string>> = {
  mcp_approval_response: 'approval_request_id',
};

/** Converts an upstream's error for this request: when the stored object is gone, the request fails, and the route is not at fault. */
export function errorOfStored(
  ask: Pick<Ask, 'protocol' | 'body'>,
  error: UpstreamError,
): UpstreamError {
  const { upstreamStatus, code } = error;
  const isGone = upstreamStatus === 404 || code === 'previous_response_not_found';
  if (!isGone) return error;
  const references = storedReferences(ask);
  const isThread = references.some(({ path }) => path === PREVIOUS_MESSAGE);
  const details = isThread ? { details: THREAD_NOT_FOUND } : {};
  return references.length > 0
    ? upstreamError('gone', { code: 'stored_not_found', upstreamStatus, ...details })
    : error;
}

/**
 * Returns the edits that replace sealed ids by native ones. The id of an item that another upstream made is removed, because the item itself is in
 * the request.
 */
export function openedIds(ask: Pick<Ask, 'protocol' | 'body'>, ids: StoredIds): PathEdit[] {
  return opened(ask.body, 'input', { references: storedReferences(ask), ids });
}

/** Returns such edits for items that go into a conversation. `strange` is the first reference to an object that is not stored for its caller there. */
export function openedItems(
  body: JsonRecord,
  ids: StoredIds,
): { edits: PathEdit[]; strange: StoredReference | null } {
  const references = ofItems(body, 'items');
  const strange = references.find(({ id }) => ids.open(id) === null) ?? null;
  return { edits: opened(body, 'items', { references, ids }), strange };
}

function opened(
  body: JsonRecord,
  name: ItemsOf,
  { references, ids }: { references: readonly StoredReference[]; ids: StoredIds },
): PathEdit[] {
  const referring = new Set(references.map(({ path }) => path.join('.')));
  const items = list(body[name]).flatMap((value, at): PathEdit[] => {
    const id = nonEmpty(record(value)['id']);
    const path = [name, String(at), 'id'];
    if (id === null || referring.has(path.join('.')) || !ids.isSealed(id)) return [];
    const native = ids.open(id);
    return [{ path, text: native === null ? null : JSON.stringify(native) }];
  });
  return [
    ...references.map(({ path, id }) => ({ path, text: JSON.stringify(ids.open(id) ?? id) })),
    ...items,
  ];
}
