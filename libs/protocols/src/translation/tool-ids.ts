import { createHash } from 'node:crypto';

/**
 * Tool call ids across protocols (behaviour 28). Anthropic takes `^[a-zA-Z0-9_-]+$` only, chat vendors make ids with `|`, `:` and `.` and some cut
 * them at 64 characters. Every map here is a pure function of the id, so a call and its result, and this turn and the next, always agree.
 */
const PLAIN_ID = /^[a-zA-Z0-9_-]+$/;
const ID_LENGTH_MAX = 64;

/** Marks an id that carries a foreign one in base64url. */
const CARRIED = 'tgx_';

/** A chat upstream's id as a messages client sees it. Foreign ids are carried whole, so the upstream gets its own id back in the next turn. */
export function carryToolId(id: string): string {
  const isPlain = PLAIN_ID.test(id) && id.length <= ID_LENGTH_MAX && !id.startsWith(CARRIED);
  return isPlain ? id : CARRIED + Buffer.from(id).toString('base64url');
}

/** A messages client's id as the chat upstream gets it: carried ids are unpacked, overlong ones of other origin shortened. */
export function chatToolId(id: string): string {
  const original = unpack(id);
  if (original !== null) return original;
  return id.length <= ID_LENGTH_MAX ? id : shortId(id);
}

/** A chat client's id as an Anthropic upstream takes it. */
export function messagesToolId(id: string): string {
  return PLAIN_ID.test(id) && id.length <= ID_LENGTH_MAX ? id : shortId(id);
}

function unpack(id: string): string | null {
  if (!id.startsWith(CARRIED)) return null;
  const original = Buffer.from(id.slice(CARRIED.length), 'base64url').toString('utf8');
  return carryToolId(original) === id ? original : null;
}

/** 160 bits of SHA-256: two ids of one conversation do not meet. */
function shortId(id: string): string {
  return `call_${createHash('sha256').update(id).digest('hex').slice(0, 40)}`;
}
