import { isRecord } from '../json/json-guard.ts';

/** Content as translations read it: a lone object, which no protocol has a place for, as its JSON text. */
export function contentValue(content: unknown): unknown {
  return isRecord(content) ? JSON.stringify(content) : content;
}
