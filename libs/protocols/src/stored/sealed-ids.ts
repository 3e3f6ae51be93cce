import type { ThreadSize } from '@tollgate/contracts';
import type { StoredIds } from '../exchange.ts';
import type { PathEdit } from '../json/edit-paths.ts';
import { isRecord, list, nonEmpty, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { containersIn } from './containers.ts';

/** Items of an answer, of its events and of a list are in these members, and so are its tools. */
const ITEM_HOLDERS = ['output', 'data', 'item', 'part', 'annotation', 'environment', 'tools'];
const CACHE = 'prompt_cache_options';

/** Returns the edits that seal the ids of a /v1/responses answer, or of one of its events, and name the model as the client does. */
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
    seal(holder, path, 'container_id');
    seal(record(holder['conversation']), [...path, 'conversation'], 'id');
    seal(record(holder[CACHE]), [...path, CACHE], 'comparison_response_id');
    sealAll([...path, 'output'], holder['output']);
    for (const { path: at, id } of containersOf(holder, path))
      edits.push({ path: at, text: JSON.stringify(ids.seal(id)) });
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

function containersOf(holder: JsonRecord, path: readonly string[]) {
  return ITEM_HOLDERS.flatMap((name) => containersIn(holder[name], [...path, name]));
}

/**
 * Returns the edits that seal the container of a message, or of the stream event that names it, and the message's own id where a `thread` continues
 * from it.
 */
export function sealedMessage(
  holder: JsonRecord,
  { ids, path = [], thread }: { ids: StoredIds; path?: readonly string[]; thread?: ThreadSize },
): PathEdit[] {
  const containerId = nonEmpty(record(holder['container'])['id']);
  const id = thread ? nonEmpty(holder['id']) : null;
  return [
    ...(containerId === null
      ? []
      : [{ path: [...path, 'container', 'id'], text: JSON.stringify(ids.seal(containerId)) }]),
    ...(id === null ? [] : [{ path: [...path, 'id'], text: JSON.stringify(ids.seal(id, thread)) }]),
  ];
}

/** Returns the edits that seal audio ids in a chat answer (`message`) or in a chunk (`delta`). */
export function sealedSounds(
  answer: JsonRecord,
  { ids, member }: { ids: StoredIds; member: 'message' | 'delta' },
): PathEdit[] {
  return list(answer['choices']).flatMap((choice, at): PathEdit[] => {
    const audio = record(record(record(choice)[member])['audio']);
    const id = nonEmpty(audio['id']);
    return id === null
      ? []
      : [
          {
            path: ['choices', String(at), member, 'audio', 'id'],
            text: JSON.stringify(ids.seal(id)),
          },
        ];
  });
}
