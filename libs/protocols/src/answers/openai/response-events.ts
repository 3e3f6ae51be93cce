import { record, records, text } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';
import type { TypedRecord } from '../../sse/sse-format.ts';

const UNDER_WAY: ReadonlySet<unknown> = new Set(['queued', 'in_progress']);
const ENDS: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed']);

/** Converts a whole response to the event stream with the same content; an error body becomes an error event. A background response has only begun. */
export function responseEvents(response: JsonRecord): TypedRecord[] {
  if (!Array.isArray(response['output'])) return [{ ...response, type: 'error' }];
  const begun = { ...response, status: 'in_progress', output: [], usage: null };
  if (response['background'] === true && UNDER_WAY.has(response['status']))
    return [{ type: 'response.created', response, sequence_number: 0 }];
  const status = ENDS.has(response['status']) ? String(response['status']) : 'failed';
  const events: TypedRecord[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...records(response['output']).flatMap(itemEvents),
    { type: `response.${status}`, response },
  ];
  return events.map((event, at) => ({ ...event, sequence_number: at }));
}

function itemEvents(item: JsonRecord, output_index: number): TypedRecord[] {
  const place = { item_id: item['id'], output_index };
  const isMessage = item['type'] === 'message';
  const isCall = item['type'] === 'function_call';
  const begun = {
    ...item,
    ...(isMessage && { content: [], status: 'in_progress' }),
    ...(isCall && { arguments: '', status: 'in_progress' }),
  };
  return [
    { type: 'response.output_item.added', output_index, item: begun },
    ...(isMessage ? records(item['content']) : []).flatMap((part, at) =>
      partEvents(part, { ...place, content_index: at }),
    ),
    ...(isCall ? callEvents(text(item['arguments']) ?? '', place) : []),
    { type: 'response.output_item.done', output_index, item },
  ];
}

function partEvents(part: JsonRecord, place: JsonRecord): TypedRecord[] {
  const isText = part['type'] === 'output_text';
  const words = isText ? { text: part['text'] } : { refusal: part['refusal'] };
  const kind = isText ? 'response.output_text' : 'response.refusal';
  const begun = { ...part, ...(isText ? { text: '' } : { refusal: '' }) };
  return [
    { type: 'response.content_part.added', ...place, part: begun },
    { type: `${kind}.delta`, ...place, delta: Object.values(record(words))[0] },
    { type: `${kind}.done`, ...place, ...words },
    { type: 'response.content_part.done', ...place, part },
  ];
}

function callEvents(args: string, place: JsonRecord): TypedRecord[] {
  return [
    { type: 'response.function_call_arguments.delta', ...place, delta: args },
    { type: 'response.function_call_arguments.done', ...place, arguments: args },
  ];
}
