import { records, text, type JsonRecord } from '../json/json-guard.ts';
import { messagesToolId } from '../translation/tool-ids.ts';

/**
 * Gemini wants the signature of its thoughts back with the call that followed them, and no other protocol has a field for it. The id of the call carries it:
 * every client returns ids as they were. https://ai.google.dev/gemini-api/docs/thought-signatures
 */
const MARK = 'tgg_';
const SEPARATOR = '_s_';
/** Gemini accepts this signature for a call that it did not make itself, for example after a change of the model. */
export const UNSIGNED = 'skip_thought_signature_validator';

export function signedToolId(seed: string, signature: string | null): string {
  const carried =
    signature === null ? '' : SEPARATOR + Buffer.from(signature).toString('base64url');
  return MARK + seed + carried;
}

/** Returns the signature that an id carries; null for an id of another origin. */
export function signatureIn(id: string): string | null {
  const at = id.startsWith(MARK) ? id.indexOf(SEPARATOR) : -1;
  if (at === -1) return null;
  return Buffer.from(id.slice(at + SEPARATOR.length), 'base64url').toString('utf8');
}

export type Signatures = (id: string) => string | null;

/** Signatures of a chat conversation by the ids that its translation to messages has: it shortens long ones. */
export function chatSignatures(body: JsonRecord): Signatures {
  const ids = records(body['messages'])
    .flatMap((message) => records(message['tool_calls']))
    .flatMap(({ id }) => text(id) ?? []);
  const known = new Map(ids.map((id) => [messagesToolId(id), signatureIn(id)]));
  return (id) => known.get(id) ?? null;
}
