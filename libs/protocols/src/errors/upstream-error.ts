import type { ErrorWords, UpstreamError } from '../exchange.ts';
import { isRecord, list, nonEmpty, parseJson, record, text, records } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { isContextOverflow } from './context-overflow.ts';
import { redact } from './redact.ts';
import { THREAD_NOT_FOUND, threadDetails } from './thread-details.ts';

type Kind = UpstreamError['kind'];

/** The caller reads these texts where the upstream's own text is only for the operator (behaviour 26). */
export const NEUTRAL_MESSAGES: Record<Kind, string> = {
  invalid_request: 'The upstream rejected the request.',
  context_overflow: 'prompt is too long',
  too_large: 'The request is too large for the upstream.',
  not_found: 'The upstream does not serve this model.',
  gone: 'What the request continues from is not stored any more.',
  rate_limited: 'The upstream is limiting requests. Please retry later.',
  overloaded: 'The upstream is overloaded. Please retry later.',
  auth: 'The upstream refused the gateway.',
  timeout: 'The upstream did not answer in time.',
  server: 'The upstream failed.',
  unreachable: 'The upstream could not be reached.',
  unreadable: 'The upstream sent an answer that could not be read.',
  answer_too_large: 'The answer is larger than the gateway reads.',
  unsupported: 'The upstream does not support this request.',
};

/** The request causes errors of these kinds, so the upstream's text helps the caller. */
const PASSED_ON: ReadonlySet<Kind> = new Set([
  'invalid_request',
  'context_overflow',
  'too_large',
  'unsupported',
]);

/** Returns an error of which only the kind is known. */
export function upstreamError(
  kind: Kind,
  details: Partial<Omit<UpstreamError, 'kind'>> = {},
): UpstreamError {
  return {
    kind,
    message: NEUTRAL_MESSAGES[kind],
    param: null,
    code: null,
    upstreamStatus: null,
    retryAfterMs: null,
    ...details,
  };
}

/** Holds an answer that is not a 2xx. */
export interface ErrorResponse {
  status: number;
  /** The header names are in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: Uint8Array;
  /** Holds the secrets known by value (the upstream's key), which are removed wherever they occur. */
  secrets?: readonly string[];
  /** Is `Provider.errorWords` of its protocol. */
  words?: ErrorWords | undefined;
}

/** Reads a non-2xx answer of any shape: OpenAI, Azure, Mistral `detail`, numeric codes, plain text, HTML. */
export function readUpstreamError({
  status,
  headers,
  body,
  secrets = [],
  words: own,
}: ErrorResponse): UpstreamError {
  const words = wordsOf(parseJson(body));
  return describe(kindOfOwn(words, own) ?? kindOfStatus(status, words), words, {
    status,
    retryAfterMs: retryAfterMs(headers) ?? retryInfoMs(parseJson(body)),
    secrets,
  });
}

/** Google states the time to wait in the body: https://cloud.google.com/apis/design/errors#error_details */
function retryInfoMs(body: unknown): number | null {
  const { details } = record(record(body)['error']);
  const info = records(details).find(({ '@type': type }) => text(type)?.endsWith('.RetryInfo'));
  const [, seconds] = /^(\d{1,9}(?:\.\d+)?)s$/.exec(text(info?.['retryDelay']) ?? '') ?? [];
  return seconds === undefined ? null : Number(seconds) * 1_000;
}

/** Reads an error inside a 2xx: a JSON body or a stream event. Returns null when the value is not an error. */
export function readInBandError(value: unknown, own?: ErrorWords): UpstreamError | null {
  if (!isRecord(value)) return null;
  // vLLM sends `object: "error"` without an `error` member.
  const hasError =
    value['type'] === 'error' ||
    value['object'] === 'error' ||
    Boolean(value['error']) ||
    isBareDetail(value);
  if (!hasError) return null;
  const words = wordsOf(value);
  return describe(kindOfOwn(words, own) ?? kindOfWords(words), words, {
    status: null,
    retryAfterMs: null,
    secrets: [],
  });
}

/** Returns the kind by the provider's own words, which take precedence. */
function kindOfOwn({ code, type, thread }: Words, own: ErrorWords = {}): Kind | null {
  if (thread) return thread.error_code === THREAD_NOT_FOUND.error_code ? 'gone' : 'invalid_request';
  const word = [code, type].find((word) => word !== null && Object.hasOwn(own, word));
  return (word != null && own[word]) || null;
}

/** Returns whether the value has FastAPI's shape, which has only `detail`. */
function isBareDetail(value: JsonRecord): boolean {
  return (
    value['detail'] !== undefined &&
    value['choices'] === undefined &&
    value['content'] === undefined &&
    value['data'] === undefined
  );
}

interface Words {
  message: string;
  type: string | null;
  code: string | null;
  param: string | null;
  /** Is `threadDetails` of the error. */
  thread: { error_code: string } | null;
}

function wordsOf(value: unknown): Words {
  // Gemini's compatible endpoint wraps its errors in a list.
  const outer = record(Array.isArray(value) ? value[0] : value);
  const inner = isRecord(outer['error']) ? outer['error'] : outer;
  const [detail] = list(outer['detail']);
  const message =
    text(outer['error']) ??
    text(inner['message']) ??
    text(outer['message']) ??
    text(outer['detail']) ??
    text(record(detail)['msg']) ??
    text(record(outer['detail'])['message']);
  const code = inner['code'] ?? outer['code'];
  return {
    message: message ?? '',
    type: nonEmpty(inner['type']) ?? nonEmpty(outer['type']) ?? reasonOf(inner['details']),
    code: typeof code === 'number' ? String(code) : nonEmpty(code),
    param: nonEmpty(inner['param']),
    thread: threadDetails(inner['details']),
  };
}

/** Returns Google's reason for an error whose status has many causes: https://google.aip.dev/193 */
function reasonOf(details: unknown): string | null {
  return (
    list(details)
      .map((detail) => nonEmpty(record(detail)['reason']))
      .find((reason) => reason !== null) ?? null
  );
}

function describe(
  kind: Kind,
  words: Words,
  facts: { status: number | null; retryAfterMs: number | null; secrets: readonly string[] },
): UpstreamError {
  const isPassedOn = PASSED_ON.has(kind) && words.message !== '';
  const isOwnCode =
    words.code !== null && !/^\d+$/.test(words.code) && words.code !== 'invalid_request_error';
  return upstreamError(kind, {
    ...(isPassedOn ? { message: redact(words.message, facts.secrets) } : {}),
    param: PASSED_ON.has(kind) && words.param !== null ? redact(words.param, facts.secrets) : null,
    code:
      PASSED_ON.has(kind) && isOwnCode && words.code !== null
        ? redact(words.code, facts.secrets)
        : null,
    upstreamStatus: facts.status,
    retryAfterMs: facts.retryAfterMs,
    ...(words.thread && { details: words.thread }),
  });
}

/** With these statuses the provider refuses the operator's key, account or proxy. */
const AUTH_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 407]);
const NOT_FOUND_STATUSES: ReadonlySet<number> = new Set([404, 405, 410]);
/** With these statuses another route, or a later attempt, may answer the request: conflicts, misdirected, locked and too early requests, and overload. */
const BUSY_STATUSES: ReadonlySet<number> = new Set([409, 421, 423, 425, 503, 529]);

function kindOfStatus(status: number, words: Words): Kind {
  if (status < 400) return kindOfWords(words);
  if (status === 400 || status === 422)
    return isContextOverflow(words.message, words.code ?? words.type) ||
      isContextOverflow('', words.type)
      ? 'context_overflow'
      : 'invalid_request';
  if (AUTH_STATUSES.has(status)) return 'auth';
  if (NOT_FOUND_STATUSES.has(status)) return 'not_found';
  if (BUSY_STATUSES.has(status)) return 'overloaded';
  if (status === 413) return 'too_large';
  if (status === 408 || status === 504) return 'timeout';
  // The operator's own account at the vendor is empty: waiting does not help, and the caller's balance is not the cause.
  if (status === 429)
    return words.code === 'insufficient_quota' || words.type === 'insufficient_quota'
      ? 'auth'
      : 'rate_limited';
  return status >= 500 ? 'server' : 'invalid_request';
}

const KINDS_BY_WORD: Readonly<Record<string, Kind>> = {
  invalid_request_error: 'invalid_request',
  content_filter: 'invalid_request',
  authentication_error: 'auth',
  permission_error: 'auth',
  billing_error: 'auth',
  invalid_api_key: 'auth',
  insufficient_quota: 'auth',
  not_found_error: 'not_found',
  model_not_found: 'not_found',
  request_too_large: 'too_large',
  rate_limit_error: 'rate_limited',
  rate_limit_exceeded: 'rate_limited',
  overloaded_error: 'overloaded',
  timeout_error: 'timeout',
};

/** Returns the kind of an error without a status by its words; a numeric code counts as a status. */
function kindOfWords(words: Words): Kind {
  const { code, type, message } = words;
  if (code !== null && /^[45]\d\d$/.test(code))
    return kindOfStatus(Number(code), { ...words, code: null });
  const named = [code, type]
    .map((word) =>
      word !== null && Object.hasOwn(KINDS_BY_WORD, word) ? KINDS_BY_WORD[word] : undefined,
    )
    .find((kind) => kind !== undefined);
  if (isContextOverflow(message, code) || isContextOverflow('', type)) return 'context_overflow';
  if (named !== undefined) return named;
  return message.toLowerCase().includes('api key') ? 'auth' : 'server';
}

const SECONDS = /^\s*\d+(?:\.\d+)?\s*$/;

/**
 * Reads `retry-after-ms`, or `retry-after` in seconds or as a date relative to the answer's own `date`, otherwise to our clock. Returns null when
 * none is valid.
 */
export function retryAfterMs(headers: Readonly<Record<string, string | undefined>>): number | null {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return Math.ceil(ms);
  const after = headers['retry-after'];
  if (after === undefined) return null;
  if (SECONDS.test(after)) return Math.ceil(Number(after) * 1_000);
  // `Date.parse` reads `-5` as a month.
  const until = after.includes(':') ? Date.parse(after) : Number.NaN;
  const said = Date.parse(headers['date'] ?? '');
  const wait = until - (Number.isNaN(said) ? Date.now() : said);
  return Number.isFinite(wait) ? Math.max(0, wait) : null;
}
