import { isRecord, list, record, records } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';
import { dataEvent, DONE_EVENT } from '../../sse/sse-format.ts';

/** Converts a whole chat completion to the chunk stream with the same content; an error body becomes an error event. */
export function completionEvents(completion: JsonRecord): string {
  const choices = records(completion['choices']);
  if (choices.length === 0)
    return dataEvent(
      isRecord(completion['error']) || completion['error'] ? completion : { error: completion },
    );
  const { choices: _, usage, ...rest } = completion;
  const head = { ...rest, object: 'chat.completion.chunk' };
  const chunks = [
    {
      ...head,
      choices: choices.map((choice, position) => ({
        index: choice['index'] ?? position,
        delta: deltaOf(record(choice['message'])),
        finish_reason: null,
      })),
    },
    {
      ...head,
      choices: choices.map((choice, position) => ({
        index: choice['index'] ?? position,
        delta: {},
        finish_reason: choice['finish_reason'] ?? 'stop',
      })),
    },
    ...(isRecord(usage) ? [{ ...head, choices: [], usage }] : []),
  ];
  return chunks.map(dataEvent).join('') + DONE_EVENT;
}

function deltaOf(message: JsonRecord): JsonRecord {
  const { tool_calls: calls, ...rest } = message;
  const delta = { role: 'assistant', ...rest };
  return list(calls).length === 0
    ? delta
    : { ...delta, tool_calls: records(calls).map((call, index) => ({ index, ...call })) };
}
