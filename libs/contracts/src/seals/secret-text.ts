const BYTES_MIN = 32;
/** 32 random bytes have about 30 distinct values; this few do not occur by chance. */
const DISTINCT_MIN = 12;
/** Matches words of placeholders, which random text does not contain. */
const PLACEHOLDER = /change|example|secret|password|placeholder|tollgate/i;
const HEX = /^(?:[0-9a-f]{2})+$/i;
const BASE64 = /^[A-Za-z0-9_+/-]+={0,2}$/;
/** Matches the prefix of credentials that the control plane issues to nodes. */
const ISSUED_PREFIX = /^tg-node-/;

/**
 * Returns why a text cannot be a secret; undefined when it can. A secret has 32 random bytes or more, in base64url or hex. The reason never repeats
 * the text.
 */
export function secretFault(text: string): string | undefined {
  const bytes = bytesOf(text.replace(ISSUED_PREFIX, ''));
  if (bytes.length < BYTES_MIN) return `must be ${BYTES_MIN} random bytes in base64url or hex`;
  if (PLACEHOLDER.test(text) || new Set(bytes).size < DISTINCT_MIN || repeatsItself(text))
    return `must be random, not an example: draw ${BYTES_MIN} bytes for it`;
  return undefined;
}

function bytesOf(text: string): Buffer {
  if (HEX.test(text)) return Buffer.from(text, 'hex');
  return BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
}

/** Returns whether the text repeats a short text. */
function repeatsItself(text: string): boolean {
  for (let length = 1; length <= text.length / 2; length += 1)
    if (text === text.slice(0, length).repeat(text.length).slice(0, text.length)) return true;
  return false;
}
