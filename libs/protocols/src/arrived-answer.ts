import type { Exchange, JsonReading } from './exchange.ts';
import { closedJson } from './json/closed-json.ts';
import { bufferOf, isRecord, list, parseJson, record, text } from './json/json-guard.ts';

/** Answers are never nested deeper than this. */
const DEPTH_MAX = 16;

/** Holds the delivered contents of a JSON answer, complete or not. */
export type Arrived = Omit<Extract<JsonReading, { kind: 'answer' }>, 'kind' | 'body'>;

/**
 * Returns what a JSON answer had delivered when it was cut: its text, or the tokens in its lists of probabilities where these are more, because they
 * may come before the text. Returns null where it is not an answer yet.
 */
export function readArrived(
  exchange: Pick<Exchange, 'readJson'>,
  bytes: Uint8Array,
): Arrived | null {
  const whole = closedJson(bufferOf(bytes));
  const reading = exchange.readJson(whole);
  if (reading.kind === 'error') return null;
  const listed = listedText(parseJson(whole));
  return listed.length > reading.outputText.length ? { ...reading, outputText: listed } : reading;
}

function listedText(value: unknown, depth = 0): string {
  if (depth > DEPTH_MAX) return '';
  if (Array.isArray(value)) return value.map((item) => listedText(item, depth + 1)).join('');
  if (!isRecord(value)) return '';
  return Object.entries(value)
    .map(([name, item]) => (name === 'logprobs' ? tokensOf(item) : listedText(item, depth + 1)))
    .join('');
}

/** Reads the probability lists of chat (`content`, `refusal`), legacy completions (`tokens`) and responses (a list). */
function tokensOf(logprobs: unknown): string {
  const { content, refusal, tokens } = record(logprobs);
  return [logprobs, content, refusal, tokens]
    .flatMap(list)
    .map((item) => text(item) ?? text(record(item)['token']) ?? '')
    .join('');
}
