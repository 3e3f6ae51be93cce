import { list, nonEmpty, record, records, text } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';
import { knownOrOther } from '../../usage/other-text.ts';

/** Holds the text and thinking of a chat message or delta, whatever the vendor's names for them. */
export interface ChatText {
  text: string;
  thinking: string;
}

/** Reads `content`, which is a string or parts (Mistral: `text` and `thinking` parts), and thinking in `reasoning_content` and `reasoning`. */
export function chatText(message: JsonRecord): ChatText {
  const content = message['content'];
  const own: ChatText =
    typeof content === 'string' ? { text: content, thinking: '' } : partsText(list(content));
  const beside = nonEmpty(message['reasoning_content']) ?? nonEmpty(message['reasoning']) ?? '';
  return { text: own.text, thinking: own.thinking || beside };
}

function partsText(parts: readonly unknown[]): ChatText {
  const found: ChatText = { text: '', thinking: '' };
  for (const item of parts) {
    const part = record(item);
    if (part['type'] === 'thinking') found.thinking += thinkingText(part['thinking']);
    else found.text += text(item) ?? text(part['text']) ?? '';
  }
  return found;
}

function thinkingText(value: unknown): string {
  return (
    text(value) ??
    records(value)
      .map((part) => text(part['text']) ?? '')
      .join('')
  );
}

/** `knownText` reads these members. */
const KNOWN_MEMBERS: ReadonlySet<string> = new Set([
  'content',
  'function_call',
  'reasoning',
  'reasoning_content',
  'refusal',
  'tool_calls',
]);

/** Returns all generated text of a message or delta, which a stream's hold must cover and which is counted when the upstream reports no usage. */
export function generatedText(message: JsonRecord): string {
  const { thinking, shown, other } = generatedParts(message);
  return thinking + shown + other;
}

/** Returns the generated text in parts: `shown` is the answer and its calls, `other` is text under unknown names. */
export function generatedParts(message: JsonRecord): {
  thinking: string;
  shown: string;
  other: string;
} {
  const { text: answer, thinking } = chatText(message);
  const shown = shownText(message, answer);
  const known = thinking + shown;
  const all = knownOrOther(known, message, KNOWN_MEMBERS);
  // Text under other names follows the known text, or is longer and replaces it.
  return all.startsWith(known)
    ? { thinking, shown, other: all.slice(known.length) }
    : { thinking: '', shown: '', other: all };
}

function shownText(message: JsonRecord, answer: string): string {
  const calls = records(message['tool_calls']).map((call) =>
    callText(record(call['function']), record(call['custom'])),
  );
  const legacy = callText(record(message['function_call']), {});
  return answer + (text(message['refusal']) ?? '') + calls.join('') + legacy;
}

function callText(fn: JsonRecord, custom: JsonRecord): string {
  const args = fn['arguments'] ?? custom['input'];
  const written =
    text(args) ?? (typeof args === 'object' && args !== null ? JSON.stringify(args) : '');
  return (text(fn['name']) ?? text(custom['name']) ?? '') + written;
}

/** Returns the tool calls in a whole answer's choices. */
export function callsIn(choices: readonly JsonRecord[]): JsonRecord[] {
  return choices.flatMap((choice) => records(record(choice['message'])['tool_calls']));
}

export function argumentsOf(call: JsonRecord): unknown {
  return record(call['function'])['arguments'] ?? record(call['custom'])['input'];
}
