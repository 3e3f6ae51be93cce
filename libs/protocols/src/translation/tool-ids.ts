import { createHash } from 'node:crypto';

/**
 * Matches tool call ids that every protocol accepts (behaviour 28). Anthropic accepts only these characters; chat vendors make ids with `|`, `:` and
 * `.`, and some cut them at 64 characters. Every conversion here is a pure function of the id, so a call and its result, and this turn and the next,
 * always agree.
 */
const PLAIN_ID = /^[a-zA-Z0-9_-]+$/;
const ID_LENGTH_MAX = 64;

/** Marks an id that carries a foreign one in base64url. */
const CARRIED = 'tgx_';

/** Converts a chat upstream's id for a messages client. A foreign id is carried completely, so the upstream gets its own id back in the next turn. */
export function carryToolId(id: string): string {
  const isPlain = PLAIN_ID.test(id) && id.length <= ID_LENGTH_MAX && !id.startsWith(CARRIED);
  return isPlain ? id : CARRIED + Buffer.from(id).toString('base64url');
}

/** Converts a messages client's id for the chat upstream: carried ids are unpacked, too long ones of other origin shortened. */
export function chatToolId(id: string): string {
  const original = unpack(id);
  if (original !== null) return original;
  return id.length <= ID_LENGTH_MAX ? id : shortId(id);
}

/** Converts a chat client's id for an Anthropic upstream. */
export function messagesToolId(id: string): string {
  return PLAIN_ID.test(id) && id.length <= ID_LENGTH_MAX ? id : shortId(id);
}

function unpack(id: string): string | null {
  if (!id.startsWith(CARRIED)) return null;
  const original = Buffer.from(id.slice(CARRIED.length), 'base64url').toString('utf8');
  return carryToolId(original) === id ? original : null;
}

/** Returns 160 bits of SHA-256, so that two ids of one conversation do not collide. */
function shortId(id: string): string {
  return `call_${createHash('sha256').update(id).digest('hex').slice(0, 40)}`;
}
