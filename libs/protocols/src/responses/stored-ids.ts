import { upstreamError } from '../errors/upstream-error.ts';
import type { Ask, StoredIds, UpstreamError } from '../exchange.ts';
import type { PathEdit } from '../json/edit-paths.ts';
import { isRecord, list, nonEmpty, record, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** What a provider has stored, as a request names it. */
export interface StoredReference {
  path: readonly string[];
  id: string;
  /** An item of the input: what other upstreams have made of an answer may be named so too. */
  isItem: boolean;
}

/** Of a /v1/responses request: what its upstream must have stored itself. */
export function storedReferences({
  protocol,
  body,
}: Pick<Ask, 'protocol' | 'body'>): StoredReference[] {
  if (protocol !== 'responses') return [];
  const { previous_response_id: previous, conversation } = body;
  const named: [readonly string[], unknown][] = [
    [['previous_response_id'], previous],
    isRecord(conversation)
      ? [['conversation', 'id'], conversation['id']]
      : [['conversation'], conversation],
  ];
  return [
    ...named.flatMap(([path, value]): StoredReference[] => {
      const id = nonEmpty(value);
      return id === null ? [] : [{ path, id, isItem: false }];
    }),
    ...list(body['input']).flatMap((value, at) => itemReference(record(value), at)),
  ];
}

function itemReference(item: JsonRecord, at: number): StoredReference[] {
  const member = REFERRING[text(item['type']) ?? ''];
  const id = member === undefined ? null : nonEmpty(item[member]);
  return member === undefined || id === null
    ? []
    : [{ path: ['input', String(at), member], id, isItem: true }];
}

/** Items that stand for a stored one -> the member that names it. */
const REFERRING: Readonly<Record<string, string>> = {
  item_reference: 'id',
  mcp_approval_response: 'approval_request_id',
};

/** An upstream's error as it concerns this request: that what it goes on from is gone is the request's end, and says nothing of the route. */
export function errorOfStored(
  ask: Pick<Ask, 'protocol' | 'body'>,
  error: UpstreamError,
): UpstreamError {
  const { upstreamStatus, code } = error;
  const isGone = upstreamStatus === 404 || code === 'previous_response_not_found';
  return isGone && storedReferences(ask).length > 0
    ? upstreamError('gone', { code: 'stored_not_found', upstreamStatus })
    : error;
}

/** The edits that put native ids where a request has sealed ones. The id of an item that another upstream made is left out: the item itself is there. */
export function openedIds(ask: Pick<Ask, 'protocol' | 'body'>, ids: StoredIds): PathEdit[] {
  const references = storedReferences(ask);
  const referring = new Set(references.map(({ path }) => path.join('.')));
  const items = list(ask.body['input']).flatMap((value, at): PathEdit[] => {
    const id = nonEmpty(record(value)['id']);
    const path = ['input', String(at), 'id'];
    if (id === null || referring.has(path.join('.')) || !ids.isSealed(id)) return [];
    const native = ids.open(id);
    return [{ path, text: native === null ? null : JSON.stringify(native) }];
  });
  return [
    ...references.map(({ path, id }) => ({ path, text: JSON.stringify(ids.open(id) ?? id) })),
    ...items,
  ];
}

/** The edits that seal the ids of an answer, whole or one event of it, and name the model as the client does. */
export function sealedIds(
  value: JsonRecord,
  { ids, model }: { ids: StoredIds; model: string | null },
): PathEdit[] {
  const edits: PathEdit[] = [];
  const seal = (holder: JsonRecord, path: readonly string[], name: string): void => {
    const id = nonEmpty(holder[name]);
    if (id !== null) edits.push({ path: [...path, name], text: JSON.stringify(ids.seal(id)) });
  };
  const sealAll = (path: readonly string[], items: unknown): void =>
    list(items).forEach((item, at) => seal(record(item), [...path, String(at)], 'id'));
  const sealObject = (holder: JsonRecord, path: readonly string[]): void => {
    seal(holder, path, 'id');
    seal(holder, path, 'previous_response_id');
    seal(record(holder['conversation']), [...path, 'conversation'], 'id');
    sealAll([...path, 'output'], holder['output']);
    if (model !== null && typeof holder['model'] === 'string')
      edits.push({ path: [...path, 'model'], text: JSON.stringify(model) });
  };
  sealObject(value, []);
  for (const name of ['item_id', 'first_id', 'last_id']) seal(value, [], name);
  sealAll(['data'], value['data']);
  if (isRecord(value['item'])) seal(value['item'], ['item'], 'id');
  if (isRecord(value['response'])) sealObject(value['response'], ['response']);
  return edits;
}
