import { z } from 'zod';

const HEADERS_MAX = 32;
const VALUE_CHARS_MAX = 2048;
/** Matches the usual part of RFC 9110 tokens, in lower case only: two spellings of one header could otherwise be sent side by side. */
const HEADER_NAME = /^[a-z0-9][a-z0-9_.-]{0,63}$/;
/** Matches visible ASCII with inner spaces and tabs; no CR, LF or NUL could ever split a request (security S32). */
const HEADER_VALUE = /^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/;

/** Lists headers that belong to one connection (RFC 9110, 7.6.1) or to the framing of the message: the node's HTTP client writes them. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'content-type',
  'content-encoding',
  'accept',
  'accept-encoding',
  'expect',
  'host',
]);
/** Secrets have one place, `api_key`, which is sealed and write-only; a header is shown to every administrator and in every diff. */
const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'proxy-authenticate',
  'x-api-key',
  'api-key',
  'cookie',
  'set-cookie',
]);

const TOO_MANY = `at most ${HEADERS_MAX} headers`;
const NOT_A_NAME = 'is not a header name in lower case';
const FIXED = 'is written by the gateway itself';
const CREDENTIAL = 'carries a credential: use api_key';

function refusal(name: string): string | undefined {
  if (!HEADER_NAME.test(name)) return NOT_A_NAME;
  if (CONNECTION_HEADERS.has(name)) return FIXED;
  if (CREDENTIAL_HEADERS.has(name)) return CREDENTIAL;
  return undefined;
}

/** Describes extra request headers of an upstream: names in any case (kept in lower case), text values. */
export const upstreamHeadersSchema = z
  .record(
    z.string().transform((name) => name.toLowerCase()),
    z.string().max(VALUE_CHARS_MAX).regex(HEADER_VALUE, 'must be printable ASCII on one line'),
  )
  .check((context) => {
    const names = Object.keys(context.value);
    if (names.length > HEADERS_MAX)
      context.issues.push({ code: 'custom', message: TOO_MANY, input: context.value });
    for (const name of names) {
      const message = refusal(name);
      if (message !== undefined)
        context.issues.push({ code: 'custom', message, path: [name], input: name });
    }
  })
  .meta({ maxProperties: HEADERS_MAX, 'x-rules': [TOO_MANY, NOT_A_NAME, FIXED, CREDENTIAL] });
