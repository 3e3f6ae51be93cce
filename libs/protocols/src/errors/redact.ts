import { withoutHiddenMarks } from '@tollgate/contracts';

const REDACTED = '[redacted]';

/** Is the longest upstream text that is checked or shown, in characters. */
const MESSAGE_MAX = 2_000;

/** Matches credentials and identifiers of the operator at the vendor. Each pattern repeats one character class, so its time is linear (S35). */
const SECRET_SHAPES = [
  /\bBearer\s+[^\s"',;]+/gi,
  /\b(?:sk|pk|rk|gsk|xai|pplx|hf|tvly|nvapi|glpat|ghp|org|proj|req|wrkspc)[-_][A-Za-z0-9_*.-]{6,}/g,
  /\bAIza[A-Za-z0-9_-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{12,}/g,
  /\beyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]+)*/g,
  /\b[A-Za-z0-9]{32,}\b/g,
  /\*{3,}[A-Za-z0-9*-]*/g,
];

/** Removes credentials from upstream errors, which may echo keys (S14): texts that look like one, and the `secrets` that are known by value. */
export function redact(message: string, secrets: readonly string[] = []): string {
  let clean = message.slice(0, MESSAGE_MAX);
  for (const secret of secrets) if (secret.length >= 4) clean = clean.replaceAll(secret, REDACTED);
  for (const shape of SECRET_SHAPES) clean = clean.replace(shape, REDACTED);
  return clean;
}

/** Bounds the bytes that are read of a body. More is read than shown, because redaction shortens the text. */
const EXCERPT_SOURCE_BYTES = 2_000;
/** A cut text may end within a secret whose beginning no longer looks like one. */
const CUT_WORD = /[^\s"',;:{}[\]<>]*$/;

/** Returns the beginning of an upstream's error for its operator, without secrets and hidden marks, at most `bytesMax` bytes of UTF-8. */
export function excerptOf(
  body: Uint8Array,
  { secrets, bytesMax }: { secrets: readonly string[]; bytesMax: number },
): string {
  const source = Buffer.from(body.subarray(0, EXCERPT_SOURCE_BYTES)).toString('utf8');
  const whole = body.length > EXCERPT_SOURCE_BYTES ? source.replace(CUT_WORD, '') : source;
  return firstBytes(withoutHiddenMarks(redact(whole, secrets), ' ').trim(), bytesMax);
}

/** Keeps whole characters only. */
function firstBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString('utf8');
}
