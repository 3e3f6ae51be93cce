import { isRecord } from '../json/json-guard.ts';

/** Returns content as translations read it: a lone object, for which no protocol has a place, becomes its JSON text. */
export function contentValue(content: unknown): unknown {
  return isRecord(content) ? JSON.stringify(content) : content;
}
