import type { Exchange } from './router.ts';
import type { IncomingHttpHeaders } from 'node:http';

const PREFLIGHT_SECONDS = 600;
const METHODS = 'GET, HEAD, POST, DELETE';
/** Matches a header that contains only header names; another one is not repeated to the browser. */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/;

type Headers = Readonly<Record<string, string>>;
const NONE: Headers = {};

/**
 * Answers cross-origin calls of browsers (Fetch standard, CORS protocol). Without a configured origin no answer carries a CORS header, so browsers
 * allow only the same origin. Credentials are never allowed: a key comes in a header that the page itself sets.
 */
export class Cors {
  readonly #origins: ReadonlySet<string>;
  readonly #exposed: string;

  /** `origins` lists exact origins, such as `https://app.example`, or `*` for every one. `exposed` lists headers that pages may read. */
  constructor({ origins, exposed }: { origins: readonly string[]; exposed: readonly string[] }) {
    this.#origins = new Set(origins);
    this.#exposed = exposed.join(', ');
  }

  /** Returns the headers for every answer to a request with these headers; none when its origin is not allowed. */
  headersFor({ origin }: IncomingHttpHeaders): Headers {
    if (this.#origins.size === 0) return NONE;
    const isAny = this.#origins.has('*');
    // The answer depends on the origin, also for origins without permission, so a cache must not give it to another origin.
    const vary: Headers = isAny ? NONE : { vary: 'Origin' };
    if (origin === undefined || !(isAny || this.#origins.has(origin))) return vary;
    return {
      ...vary,
      'access-control-allow-origin': isAny ? '*' : origin,
      'access-control-expose-headers': this.#exposed,
    };
  }

  /** Returns the answer to a preflight of an allowed origin; null for any other request. */
  preflight(method: string | undefined, headers: IncomingHttpHeaders): Headers | null {
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return null;
    const allowed = this.headersFor(headers);
    if (allowed['access-control-allow-origin'] === undefined) return null;
    const names = headers['access-control-request-headers'] ?? '';
    return {
      ...allowed,
      'access-control-allow-methods': METHODS,
      ...(HEADER_NAMES.test(names) && { 'access-control-allow-headers': names }),
      'access-control-max-age': String(PREFLIGHT_SECONDS),
    };
  }
}

/** Answers a preflight of the models' interface. Returns whether it did. */
export function answerPreflight(
  { incoming, outgoing }: Pick<Exchange, 'incoming' | 'outgoing'>,
  cors: Cors,
): boolean {
  const headers = /^\/v1(?:beta)?\//.test(incoming.url ?? '')
    ? cors.preflight(incoming.method, incoming.headers)
    : null;
  if (headers) outgoing.writeHead(204, headers).end();
  return headers !== null;
}
