import type { UpstreamError } from '../exchange.ts';
import { findMember, layoutObject } from '../json/json-layout.ts';
import { applyPatches, editObject } from '../json/json-splice.ts';

/** Fields of a request that some models refuse though their protocol has them, and what becomes of each: the name it moves to, or null where it is left out. */
const REPLACEMENTS = {
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
  temperature: null,
  top_p: null,
  stop: null,
} as const;
export type RefusableField = keyof typeof REPLACEMENTS;

const REFUSAL = /unsupported|not supported|does not support|deprecated/i;
const QUOTED = /['"`]([a-z_]+)['"`]/;

/** The field an upstream has refused for its model, as far as another request can do without it; null for any other error. */
export function refusedField({ kind, code, param, message }: UpstreamError): RefusableField | null {
  if (kind !== 'invalid_request') return null;
  const isRefusal =
    code === 'unsupported_parameter' || code === 'unsupported_value' || REFUSAL.test(message);
  const name = param ?? QUOTED.exec(message)?.[1] ?? '';
  return isRefusal && isRefusable(name) ? name : null;
}

/** The request's body without what its model refuses: an output limit under its other name, sampling and stops left out. Every other byte stays. */
export function withoutRefused(body: Uint8Array, refused: ReadonlySet<RefusableField>): Uint8Array {
  const layout = refused.size === 0 ? null : layoutObject(body);
  if (!layout) return body;
  const edits: Record<string, string | null> = {};
  for (const field of refused) {
    const member = findMember(layout, field);
    if (!member) continue;
    edits[field] = null;
    const target = REPLACEMENTS[field];
    // A limit that both names carry stays under the one that is left; one that is refused under both is left out.
    if (target !== null && !refused.has(target) && !findMember(layout, target))
      edits[target] = Buffer.from(body.subarray(member.valueStart, member.valueEnd)).toString();
  }
  return applyPatches(body, editObject(layout, edits));
}

function isRefusable(name: string): name is RefusableField {
  return Object.hasOwn(REPLACEMENTS, name);
}
