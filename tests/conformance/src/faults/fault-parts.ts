import {
  answerParts,
  head,
  JSON_HEADERS,
  SSE_HEADERS,
  type AnswerParts,
  type Speech,
} from './wire.ts';
import { OUTPUT_LIMIT, type Expected, type Scene } from './fault-scene.ts';

export const FAILED: Expected = ['bad gateway', 'nothing'];
export const WHOLE: Expected = ['whole', 'reported'];
export const CUT: Expected = ['error event', 'counted'];
export const LATE: Expected = ['timeout', 'nothing'];
export const COUNTED: Expected = ['whole', 'counted'];
export const CUT_TO_LIMIT: Expected = ['whole', 7 + OUTPUT_LIMIT];

/** Writes the whole answer, as JSON or events, with its head. */
export function right({ isStream, parts }: Scene, headers: Record<string, string> = {}): string {
  return (
    head('200 OK', { ...(isStream ? SSE_HEADERS : JSON_HEADERS), ...headers }) +
    body(isStream, parts)
  );
}

export function body(isStream: boolean, { json, begin, finish, end }: AnswerParts): string {
  return isStream ? begin + finish + end : json;
}

/** Writes the head and the first half of the answer. */
export function half({ isStream, parts }: Scene): string {
  return isStream
    ? head('200 OK', SSE_HEADERS) + parts.begin
    : head('200 OK', { ...JSON_HEADERS, 'content-length': '5000' }) + parts.json.slice(0, 40);
}

export const says = (text: string | ((scene: Scene) => string)) => (scene: Scene) =>
  void scene.socket.end(typeof text === 'string' ? text : text(scene));
export const status = (
  line: string,
  content: object | string,
  headers: Record<string, string> = {},
) =>
  says(
    head(line, { ...JSON_HEADERS, ...headers }) +
      (typeof content === 'string' ? content : JSON.stringify(content)),
  );
export const withUsage = (usage: (speech: Speech) => object | null) =>
  says((scene) =>
    right({ ...scene, parts: answerParts(scene.speech, { usage: usage(scene.speech) }) }),
  );
export const ERROR = {
  type: 'error',
  error: { type: 'server_error', message: 'secret words of the upstream' },
};
export const LONG = 'word '.repeat(2_000);
