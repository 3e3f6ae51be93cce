import type { ClientProtocol, UpstreamError } from '../exchange.ts';
import { jsonBytes } from '../json/json-guard.ts';
import { contextLengthMessage, tooLongMessage } from './context-overflow.ts';

/** Describes every refusal and failure in both vendors' terms (docs/design/protocols.md#errors). The SDKs' retry rules read statuses and types. */
interface VendorWords {
  status: number;
  type: string;
  code: string | null;
}

interface ErrorEntry {
  openai: VendorWords;
  anthropic: Omit<VendorWords, 'code'>;
  /** Sets `x-should-retry` where it must override the status (docs/design/protocols.md#errors). */
  shouldRetry?: boolean;
}

function entry(
  openai: [number, string, string | null],
  anthropic: [number, string],
  shouldRetry?: boolean,
): ErrorEntry {
  const [status, type, code] = openai;
  return {
    openai: { status, type, code },
    anthropic: { status: anthropic[0], type: anthropic[1] },
    ...(shouldRetry === undefined ? {} : { shouldRetry }),
  };
}

const INVALID = 'invalid_request_error';
const DENIED = 'permission_error';

export const CLIENT_ERRORS = {
  invalid_request: entry([400, INVALID, 'invalid_value'], [400, INVALID]),
  unsupported: entry([400, INVALID, 'unsupported_parameter'], [400, INVALID]),
  context_overflow: entry([400, INVALID, 'context_length_exceeded'], [400, INVALID]),
  invalid_api_key: entry([401, INVALID, 'invalid_api_key'], [401, 'authentication_error'], false),
  // LiteLLM treats every error of the type `invalid_request_error` as a 400, except for a key and a model in OpenAI's terms.
  account_frozen: entry([403, DENIED, 'account_frozen'], [403, DENIED], false),
  ip_not_allowed: entry([403, DENIED, 'ip_not_allowed'], [403, DENIED], false),
  request_ended: entry([403, DENIED, 'request_ended'], [403, DENIED], false),
  model_not_allowed: entry([403, DENIED, 'model_not_allowed'], [403, DENIED]),
  model_not_found: entry([404, INVALID, 'model_not_found'], [404, 'not_found_error']),
  not_found: entry([404, INVALID, 'not_found'], [404, 'not_found_error']),
  method_not_allowed: entry([405, INVALID, 'method_not_allowed'], [405, INVALID]),
  // Only after this answer does Codex continue with plain requests at once; after any other it retries the socket.
  websocket_not_served: entry([426, INVALID, 'websocket_not_supported'], [426, INVALID]),
  background_running: entry([409, INVALID, 'background_running'], [409, INVALID], true),
  answer_too_large: entry([400, INVALID, 'answer_too_large'], [400, INVALID]),
  request_too_large: entry([413, INVALID, 'request_too_large'], [413, 'request_too_large']),
  unsupported_media_type: entry([415, INVALID, 'unsupported_media_type'], [415, INVALID]),
  // Codex treats 429 insufficient_quota as final but repeats a 402; the messages clients stop on 402.
  insufficient_quota: entry(
    [429, 'insufficient_quota', 'insufficient_quota'],
    [402, 'billing_error'],
    false,
  ),
  // The account's owner set a limit, so neither a repetition nor buying tokens helps.
  budget_exceeded: entry(
    [429, 'insufficient_quota', 'insufficient_quota'],
    [429, 'rate_limit_error'],
    false,
  ),
  tokens_held: entry([429, 'rate_limit_error', 'tokens_held'], [429, 'rate_limit_error'], true),
  rate_limit_exceeded: entry(
    [429, 'rate_limit_error', 'rate_limit_exceeded'],
    [429, 'rate_limit_error'],
  ),
  internal: entry([500, 'server_error', 'internal_error'], [500, 'api_error']),
  upstream_error: entry([502, 'server_error', 'upstream_error'], [500, 'api_error']),
  unavailable: entry([503, 'server_error', 'unavailable'], [503, 'api_error']),
  overloaded: entry([503, 'server_error', 'overloaded'], [529, 'overloaded_error']),
  timeout: entry([504, 'server_error', 'timeout'], [504, 'timeout_error']),
} as const satisfies Record<string, ErrorEntry>;

export type ClientErrorCode = keyof typeof CLIENT_ERRORS;

export interface ClientError {
  code: ClientErrorCode;
  /** Is the message for the client, redacted and without operator's details. */
  message: string;
  /** Is the path of the invalid field; only the OpenAI shape has a member for it. */
  param?: string | null;
  /** Is a finer code for the OpenAI shape, such as `missing_required_parameter`; the default is the entry's own. */
  vendorCode?: string | null;
  /** Holds the `error.details` of the messages shape. */
  details?: object | null;
  requestId: string;
}

export interface ClientErrorResponse {
  status: number;
  /** Contains `x-should-retry` where needed. The caller adds content type, request-id and Retry-After. */
  headers: Record<string, string>;
  body: Uint8Array;
}

/** Returns the answer to a request that failed before its first byte, in the shape of its endpoint (behaviour 2). */
export function clientError(protocol: ClientProtocol, error: ClientError): ClientErrorResponse {
  const words: ErrorEntry = CLIENT_ERRORS[error.code];
  return {
    status: protocol === 'messages' ? words.anthropic.status : words.openai.status,
    headers: words.shouldRetry === undefined ? {} : { 'x-should-retry': String(words.shouldRetry) },
    // OpenAI's shape has no member for the id. Beside `error` it disturbs no client and helps readers of logs.
    body: jsonBytes({ ...clientErrorBody(protocol, error), request_id: error.requestId }),
  };
}

/** Returns only the error's JSON, which a stream's error event carries, too. */
export function clientErrorBody(protocol: ClientProtocol, error: ClientError): object {
  const { openai, anthropic } = CLIENT_ERRORS[error.code];
  const isOverflow = error.code === 'context_overflow';
  if (protocol === 'messages') {
    const message = isOverflow ? tooLongMessage(error.message) : error.message;
    const details = error.details ? { details: error.details } : {};
    return {
      type: 'error',
      error: { type: anthropic.type, message, ...details },
      request_id: error.requestId,
    };
  }
  if (protocol === 'generate') return googleErrorBody(error);
  return {
    error: {
      message: isOverflow ? contextLengthMessage(error.message) : error.message,
      type: openai.type,
      param: error.param ?? null,
      code: error.vendorCode ?? openai.code,
    },
  };
}

/** Maps statuses to the words of Google's errors: https://cloud.google.com/apis/design/errors#handling_errors */
const GOOGLE_STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  415: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** Builds a `google.rpc.Status`; its details hold the finer code and the field. */
function googleErrorBody({ code, message, vendorCode, param }: ClientError): object {
  const { openai } = CLIENT_ERRORS[code];
  const reason = (vendorCode ?? openai.code ?? code).toUpperCase();
  return {
    error: {
      code: openai.status,
      message: code === 'context_overflow' ? contextLengthMessage(message) : message,
      status: GOOGLE_STATUSES[openai.status] ?? 'INTERNAL',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason,
          domain: 'tollgate',
          metadata: param ? { field: param } : {},
        },
      ],
    },
  };
}

const UPSTREAM_CODES: Record<UpstreamError['kind'], ClientErrorCode> = {
  invalid_request: 'invalid_request',
  context_overflow: 'context_overflow',
  too_large: 'request_too_large',
  // The caller's model exists here; the upstream does not know its name, which is the operator's mistake.
  not_found: 'upstream_error',
  gone: 'not_found',
  rate_limited: 'rate_limit_exceeded',
  overloaded: 'overloaded',
  auth: 'upstream_error',
  timeout: 'timeout',
  server: 'upstream_error',
  unreachable: 'upstream_error',
  unreadable: 'upstream_error',
  answer_too_large: 'answer_too_large',
  unsupported: 'unsupported',
};

/** Converts an upstream's failure for the caller: its 401 and 403 never become the caller's (behaviour 26). */
export function upstreamClientError(error: UpstreamError, requestId: string): ClientError {
  const code = UPSTREAM_CODES[error.kind];
  const isCallers = code === 'invalid_request' || code === 'unsupported' || code === 'not_found';
  return {
    code,
    message: error.message,
    param: error.param,
    vendorCode: isCallers ? error.code : null,
    details: error.details ?? null,
    requestId,
  };
}
