import type { JsonRecord } from '../json/json-guard.ts';
import { dataEvent } from '../sse/sse-format.ts';

/** Puts the pieces of a stream behind each other. */
export interface StreamFormat {
  piece(value: JsonRecord): string;
  /** Returns the text behind the last piece. */
  end(): string;
  /** Holds bytes that mean nothing. */
  readonly keepAlive: string;
}

/** Google's Python client reads a comment as JSON, and skips an empty line. */
const EMPTY_LINES = '\n\n';

/** A stream is events with `alt=sse`, and one JSON array without it: https://cloud.google.com/apis/docs/system-parameters. */
export function streamFormat(isArray: boolean): StreamFormat {
  if (!isArray) return { piece: dataEvent, end: () => '', keepAlive: EMPTY_LINES };
  let isBegun = false;
  return {
    piece: (value) => {
      const before = isBegun ? ',\r\n' : '[';
      isBegun = true;
      return before + JSON.stringify(value);
    },
    end: () => (isBegun ? ']' : '[]'),
    keepAlive: ' ',
  };
}
