import { isRecord, record, records, text, type JsonRecord } from '../../json/json-guard.ts';

/** Returns the events of ConverseStream that say what an answer of Converse says. Each is an object of one member, which is the type of the event. */
export function converseEvents(answer: JsonRecord): JsonRecord[] {
  const { content, role } = record(record(answer['output'])['message']);
  return [
    { messageStart: { role } },
    ...records(content).flatMap((block, contentBlockIndex) => [
      ...blockEvents(block).map(([type, event]) => ({ [type]: { contentBlockIndex, ...event } })),
      { contentBlockStop: { contentBlockIndex } },
    ]),
    { messageStop: { stopReason: answer['stopReason'] } },
    { metadata: { usage: answer['usage'] } },
  ];
}

function blockEvents(block: JsonRecord): [string, JsonRecord][] {
  if (isRecord(block['toolUse'])) {
    const { toolUseId, name, input } = block['toolUse'];
    return [
      ['contentBlockStart', { start: { toolUse: { toolUseId, name } } }],
      ['contentBlockDelta', { delta: { toolUse: { input: JSON.stringify(input ?? {}) } } }],
    ];
  }
  return deltasOf(block).map((delta) => ['contentBlockDelta', { delta }]);
}

function deltasOf(block: JsonRecord): JsonRecord[] {
  if (isRecord(block['reasoningContent'])) {
    const { reasoningText, redactedContent } = block['reasoningContent'];
    const { text: thought, signature } = record(reasoningText);
    return [
      { reasoningContent: { text: thought } },
      ...(signature === undefined ? [] : [{ reasoningContent: { signature } }]),
      ...(redactedContent === undefined ? [] : [{ reasoningContent: { redactedContent } }]),
    ];
  }
  return [{ text: textOf(block) }];
}

/** Returns the text of a block, with or without its citations. */
function textOf(block: JsonRecord): string {
  const cited = records(record(block['citationsContent'])['content']);
  return text(block['text']) ?? cited.map((part) => text(part['text']) ?? '').join('');
}

/** Holds all that a delta generates. */
export interface Generated {
  readonly text: string;
  readonly thought: string;
  readonly call: string;
}

export function generatedBy(event: JsonRecord): Generated {
  const delta = record(record(event['contentBlockDelta'])['delta']);
  return {
    text: text(delta['text']) ?? '',
    thought: text(record(delta['reasoningContent'])['text']) ?? '',
    call: text(record(delta['toolUse'])['input']) ?? '',
  };
}

/** Returns the name of the tool whose call begins with this event. */
export function startedCall(event: JsonRecord): string | null {
  const { toolUse } = record(record(event['contentBlockStart'])['start']);
  return isRecord(toolUse) ? (text(toolUse['name']) ?? '') : null;
}
