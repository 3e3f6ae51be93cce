import { THREAD_NOT_FOUND, type ClientErrorCode, type ErrorShape } from '@tollgate/protocols';

/** Is a text for the client: the same in all shapes, or in each vendor's words, by which SDKs and LiteLLM distinguish errors. */
export type PublicText = string | Readonly<Record<Exclude<ErrorShape, 'generate'>, string>>;

/**
 * Describes an expected refusal of a node: the client error (libs/protocols has its status and text in each protocol), the public text, and a finer
 * code where clients get one. The operator's text goes only to the log.
 */
export interface RefusalRow {
  error: ClientErrorCode;
  message: PublicText;
  vendorCode?: string;
  /** Is `ClientError.details`. */
  details?: object;
}

export const REFUSALS = {
  invalid_api_key: {
    error: 'invalid_api_key',
    message: {
      chat: 'Incorrect API key provided: it is missing or not valid.',
      // Claude Code would hide a text with `x-api-key` behind "Not logged in"; LiteLLM looks for the first words.
      messages: 'Invalid API Key: the API key is missing or not valid.',
    },
  },
  account_frozen: { error: 'account_frozen', message: 'This account is not active.' },
  ip_not_allowed: {
    error: 'ip_not_allowed',
    message: 'This API key may not be used from this address.',
  },
  model_not_allowed: {
    error: 'model_not_allowed',
    message: 'This API key may not use this model.',
  },
  model_not_found: {
    error: 'model_not_found',
    message: modelNotFoundText('NAME'),
  },
  not_found: {
    error: 'not_found',
    message: 'There is nothing at this path; the message lists what is served.',
  },
  stored_not_found: {
    error: 'not_found',
    message: 'Nothing of this id is stored for this account.',
    vendorCode: 'stored_not_found',
  },
  thread_not_found: {
    error: 'not_found',
    message:
      'Nothing of this id can be continued with this model now; send all messages of the thread.',
    vendorCode: 'thread_not_found',
    details: THREAD_NOT_FOUND,
  },
  background_running: {
    error: 'background_running',
    message:
      'This response is being cancelled, and deleted once what it used is known; repeat the request.',
  },
  no_conversations: {
    error: 'not_found',
    message: 'No upstream of the models of this account stores conversations.',
    vendorCode: 'no_conversations',
  },
  method_not_allowed: {
    error: 'method_not_allowed',
    message: 'This path does not answer this method; the message lists what is served.',
  },
  websocket_not_served: {
    error: 'websocket_not_served',
    message: 'There are no web sockets here; send the request with POST.',
  },
  wrong_model_kind: {
    error: 'unsupported',
    message: 'This model cannot be used at this endpoint.',
    vendorCode: 'unsupported_model',
  },
  protocol_not_served: {
    error: 'unsupported',
    message: 'This model has no route for this protocol.',
    vendorCode: 'unsupported_protocol',
  },
  input_unbounded: {
    error: 'unsupported',
    message:
      'This model cannot take stored items, documents, files or tools of the provider until an administrator sets its context_window or unbounded_input_tokens. Instead of a stored item (`item_reference`, `previous_response_id`) send the item itself, with `store: false`.',
    vendorCode: 'input_unbounded',
  },
  server_tool_not_priced: {
    error: 'unsupported',
    message: 'This model has no price for this tool of the provider.',
    vendorCode: 'server_tool_not_priced',
  },
  nested_model_not_priced: {
    error: 'unsupported',
    message: 'This model has no price for a further model that the request names.',
    vendorCode: 'nested_model_not_priced',
  },
  body_too_large: { error: 'request_too_large', message: 'The request body is too large.' },
  unsupported_encoding: {
    error: 'unsupported_media_type',
    message:
      'The content-encoding of the request is not supported; send identity, gzip, deflate, br or zstd.',
  },
  body_unreadable: {
    error: 'invalid_request',
    message: 'The request body could not be decoded.',
    vendorCode: 'invalid_body',
  },
  rate_limited: {
    error: 'rate_limit_exceeded',
    message:
      'Rate limit reached: the API key or its account has no more requests or tokens for now.',
  },
  concurrency_exceeded: {
    error: 'rate_limit_exceeded',
    message: 'Too many requests of this subscription or API key are running.',
    vendorCode: 'concurrency_exceeded',
  },
  input_too_long: {
    error: 'context_overflow',
    message: 'The prompt is longer than this API key takes.',
  },
  uploads_exceeded: {
    error: 'rate_limit_exceeded',
    message: 'This account is sending too many large requests at once.',
    vendorCode: 'uploads_exceeded',
  },
  tokens_held: {
    error: 'tokens_held',
    message: 'Running requests hold the tokens this one needs; try again shortly.',
  },
  recharge_pending: {
    error: 'tokens_held',
    message: 'Auto-recharge is buying the tokens this request needs; try again shortly.',
    vendorCode: 'recharge_pending',
  },
  balance_too_low: {
    error: 'insufficient_quota',
    message: balanceTooLowText('BALANCE', 'ENOUGH'),
  },
  budget_exceeded: {
    error: 'budget_exceeded',
    message: 'A budget of this key or account is used up.',
  },
  budget_value_missing: {
    error: 'invalid_request',
    message: 'A budget of this key or account counts by session or end user; name it.',
    vendorCode: 'budget_value_missing',
  },
  metering_unavailable: {
    error: 'unavailable',
    message: 'The gateway cannot meter requests right now; try again shortly.',
  },
  not_serving: {
    error: 'unavailable',
    message: 'This node is not taking requests; try again shortly.',
  },
  not_ready: {
    error: 'unavailable',
    message: 'This node has no configuration yet; try again shortly.',
  },
  request_ended: {
    error: 'request_ended',
    message: 'This request was ended by its account or by an administrator of this gateway.',
  },
  no_route: { error: 'unavailable', message: 'No upstream serves this model at the moment.' },
  internal_error: { error: 'internal', message: 'The gateway failed to handle the request.' },
} as const satisfies Record<string, RefusalRow>;

export type RefusalCode = keyof typeof REFUSALS;

/** Is the longest wait that the OpenAI SDK honours; other headers carry the exact value. */
const RETRY_AFTER_SECONDS_MAX = 60;

export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly #text: PublicText;
  readonly param: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Is the subject of the refusal, for the operator's log only. */
  readonly about: string | null;

  /** `detail` replaces the public text when the request itself explains more; it must contain no secret. */
  constructor(
    code: RefusalCode,
    {
      detail,
      param = null,
      headers = {},
      about = null,
    }: {
      detail?: PublicText;
      param?: string | null;
      headers?: Record<string, string>;
      about?: string | null;
    } = {},
  ) {
    super(code);
    this.code = code;
    this.#text = detail ?? REFUSALS[code].message;
    this.param = param;
    this.headers = headers;
    this.about = about;
  }

  publicText(shape: ErrorShape): string {
    return typeof this.#text === 'string'
      ? this.#text
      : this.#text[shape === 'generate' ? 'chat' : shape];
  }
}

/** `name` is the name in the request. An existing and an unknown model are refused in the same way. */
export function modelNotFound(name: string): Refusal {
  return new Refusal('model_not_found', { param: 'model', detail: modelNotFoundText(name) });
}

/** A request certainly starts with `enoughTokens`; fewer may be enough, because a prompt is bounded by its bytes before it is counted. */
export function balanceTooLow(balance: number, enoughTokens: number): Refusal {
  return new Refusal('balance_too_low', {
    detail: balanceTooLowText(String(balance), String(enoughTokens)),
  });
}

/** The text begins with OpenAI's and Anthropic's words, by which SDKs and LiteLLM recognise it; the balance and the remedy follow. */
function balanceTooLowText(balance: string, enough: string): PublicText {
  const text = `the token balance for this model is ${balance}, and ${enough} are enough for this request to start. Buy tokens for the model in the console (Models), or ask the administrator of this gateway.`;
  return {
    chat: `You exceeded your current quota: ${text}`,
    messages: `Your credit balance is too low: ${text}`,
  };
}

/** Claude Code recognises `model: name`, LiteLLM and others OpenAI's sentence. */
function modelNotFoundText(name: string): PublicText {
  return {
    chat: `The model \`${name}\` does not exist or you do not have access to it. Subscribe to it in the console (Models), or ask the administrator of this gateway.`,
    messages: `model: ${name} does not exist or the account is not subscribed to it`,
  };
}

/** Returns `Retry-After` for an exact wait, capped; it says not to retry when the cap would mislead. */
export function retryHeaders(waitMs: number): Record<string, string> {
  const exactSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  const headers: Record<string, string> = {
    'retry-after': String(Math.min(exactSeconds, RETRY_AFTER_SECONDS_MAX)),
  };
  if (exactSeconds > RETRY_AFTER_SECONDS_MAX) headers['x-should-retry'] = 'false';
  return headers;
}
