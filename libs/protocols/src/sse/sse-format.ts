import type { JsonRecord } from '../json/json-guard.ts';

export type TypedRecord = JsonRecord & { readonly type: string };

/** Writes an unnamed event, as chat has it. */
export function dataEvent(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** Writes a messages or responses event: its name is its `type`; SDKs drop events without a name (docs/design/protocols.md#streams). */
export function namedEvent(value: TypedRecord): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
}

export const DONE_EVENT = 'data: [DONE]\n\n';
export const PING_EVENT = 'event: ping\ndata: {"type":"ping"}\n\n';
/** The only keep-alive OpenAI clients survive (docs/design/protocols.md#streams). */
export const COMMENT_EVENT = ': keep-alive\n\n';
