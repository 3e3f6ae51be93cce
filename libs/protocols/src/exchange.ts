import type {
  CallCounts,
  ClientProtocol,
  FurtherEndpoint,
  ReportedUsage,
  ThreadSize,
  TokenUsage,
  UpstreamProtocol,
} from '@tollgate/contracts';
import type { ImageSize } from './ask/image-size.ts';
import type { DroppedField, FoundField, NestedModel, ServerTool } from './fields/found-field.ts';
import type { GenerateBody } from './generate-request/generate-body.ts';
import type { JsonLayout } from './json/json-layout.ts';
import type { EventFramer } from './sse/sse-framer.ts';

export type { ClientProtocol };

/** A request body, read once at the edge. `raw` is what passes through untouched; `body` is its parsed twin, never serialised again on same-protocol routes. */
export interface Ask {
  protocol: ClientProtocol;
  raw: Uint8Array;
  /** The places of the top-level members in `raw`. */
  layout: JsonLayout;
  body: Readonly<Record<string, unknown>>;
  model: string;
  /** `/v1/responses/compact`: the answer is a shorter form of the input. */
  isCompaction: boolean;
  /** The fields that its protocol's table names, but for settings. */
  fields: readonly FoundField[];
  serverTools: readonly ServerTool[];
  nestedModels: readonly NestedModel[];
  isStream: boolean;
  /** The answer is made whether or not its caller waits for it. */
  isBackground: boolean;
  /** The client's own output limit (the larger of all such fields); null when it gave none. */
  outputLimit: number | null;
  /** `n`, 1 by default. */
  choices: number;
  /** Chat: the client asked for `stream_options.include_usage`. */
  wantsStreamUsage: boolean;
  prompt: PromptFacts;
  /** A request of Gemini as it came; all other members are of the chat request that says the same. */
  generate?: GenerateBody;
}

/** Protocols with an endpoint that counts the tokens of a prompt. */
export type CountingProtocol = Extract<ClientProtocol, 'messages' | 'responses' | 'generate'>;
export interface CountAsk extends Pick<Ask, 'raw' | 'layout' | 'body' | 'model' | 'generate'> {
  protocol: CountingProtocol;
}

/** The facts that hold sizing needs (docs/design/metering.md#hold-size). */
export interface PromptFacts {
  /** UTF-8 bytes of all text that becomes prompt tokens: messages, system, tools, schemas. A token array counts one per token. */
  textBytes: number;
  messageCount: number;
  /** Images, inline or by reference; providers scale them to a size they document. Their bytes are not in `textBytes`. */
  imageCount: number;
  /** The same images one by one. */
  images: readonly ImageInput[];
  /** Tools that the request offers: the client's own are counted, those of vendors named, without the version. */
  ownTools: number;
  vendorTools: readonly string[];
  /** Inputs that no byte of the request bounds: documents, videos, files and other input stored elsewhere. */
  unboundedInputs: number;
  /** Rounds in which tools of the provider may add input; each reads the prompt again. */
  serverToolUses: number;
  /** The most that the provider's tools may be called, by the class that counts such calls. */
  calls?: CallCounts;
  /** The number of times that the provider may shorten the conversation first; each reads all of it, and writes a summary. */
  compactions?: number;
  /** Bytes that are no text and at most a token each: inline audio, and members that no table names, which an upstream may read as prompt. */
  otherBytes: number;
  /** Bytes of a predicted output, which is billed as output where the model does not use it; not in `textBytes`. */
  predictedBytes: number;
  /** The conversation that the request continues, which its provider reads too. */
  thread?: ThreadSize;
  /** All prompt text joined, for exact tokenising when the byte bound does not fit. Built on demand. */
  text(): string;
}

/** An image of a request: what providers count for it depends on its size and on the detail that is asked for. */
export interface ImageInput {
  /** Null: it is elsewhere, or its size cannot be relied on. */
  size: ImageSize | null;
  detail: 'low' | 'high' | null;
}

/** Every finer code of a refused request, and what it says; docs/errors.md is written from it. */
export const INVALID_REQUEST_CODES = {
  invalid_value: 'A field has a value that is not accepted; `param` names it.',
  invalid_type: 'A number is expected where the request has something else; `param` names it.',
  integer_below_min_value: 'A limit or count is too small; `param` names it.',
  integer_above_max_value: 'A limit or count is too large; `param` names it.',
  missing_required_parameter: 'A field is missing; `param` names it.',
  invalid_json: 'The body is not a JSON object, or holds more than is read.',
  duplicate_field: 'A field is given more than once; `param` names it.',
  foreign_parameter:
    'A field of another protocol would limit or multiply the output; `param` names it.',
  ambiguous_parameter:
    'A field differs from a known one by the case of its letters only; `param` names it.',
  unsupported_parameter: 'The upstream of this model has nothing for what `param` names.',
  unsupported_endpoint: 'This model cannot be called through this endpoint.',
} as const;
export type InvalidRequestCode = keyof typeof INVALID_REQUEST_CODES;

/** A 400 in the making; `param` is the path of the field, e.g. `messages[0].role`. */
export class InvalidRequest extends Error {
  readonly param: string | null;
  readonly code: InvalidRequestCode;
  /** A client's program reads these members of the refusal; only the messages shape has a place for it. */
  readonly details: object | null;
  constructor(
    message: string,
    {
      param = null,
      code = 'invalid_value',
      details = null,
    }: { param?: string | null; code?: InvalidRequestCode; details?: object | null } = {},
  ) {
    super(message);
    this.param = param;
    this.code = code;
    this.details = details;
  }
}

/** The protocol that an upstream speaks, and the endpoints it has beside those of every server of it. */
export interface Speech {
  readonly protocol: UpstreamProtocol;
  readonly endpoints?: readonly FurtherEndpoint[] | undefined;
  /** Set when paths depend on it. */
  readonly base_url?: string;
}

/** Ids of what the upstream of one request stores for its account. They leave the gateway sealed. */
export interface StoredIds {
  /** `thread`: of an answer that may be continued by its id. */
  seal(native: string, thread?: ThreadSize): string;
  /** The native id; null for one that is not of this account and upstream. */
  open(sealed: string): string | null;
  /** Returns whether the id has the form of a sealed one, of whichever account. */
  isSealed(id: string): boolean;
}

/** Says how a request helps its provider to find the beginning of its prompt again. */
export interface PromptCaching {
  /** Only requests of one account share a derived key. */
  readonly accountId: number;
  /** Requests that mark nothing are marked, though writes to a cache may cost more. */
  readonly marks: boolean;
}

export interface ExchangeRequest {
  ask: Ask;
  speech: Speech;
  /** Needed where the upstream stores answers. */
  ids?: StoredIds;
  upstreamModel: string;
  /** Granted output tokens of each choice, clamped by model and balance; null for embeddings. */
  outputLimit: number | null;
  /** Fields of the request that must not reach the upstream. */
  dropped?: readonly DroppedField[];
  /** The route's field for the default limit on chat upstreams. */
  outputLimitField: 'max_tokens' | 'max_completion_tokens';
  /** Absent where nothing is added for a cache. */
  caching?: PromptCaching;
  /** The most that the prompt and the answer may have, in plain tokens; needed for a message thread. */
  bounds?: ThreadSize;
  /** The client's request headers, lower-case names. */
  clientHeaders: Readonly<Record<string, string | undefined>>;
  /** The request id (a UUIDv7): gives made-up ids their text and made-up timestamps their time, so that an exchange needs no clock. */
  idSeed: string;
}

/** Turns a request into bytes for one upstream, and its answer into bytes for the client. Pure: no I/O, no clock. */
export interface Exchange {
  /** Appended to the upstream's base_url: `/chat/completions`, `/messages`, `/embeddings`, `/responses`. */
  readonly path: string;
  readonly requestBody: Uint8Array;
  /** Protocol headers to send upstream (`anthropic-version`, `anthropic-beta`), from the client's or chosen by the translator. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  /** A whole 2xx JSON answer. */
  readJson(body: Uint8Array): JsonReading;
  /** For a `stream: true` request. Takes whatever the 200 brought: an event stream, or a JSON or HTML body that should have been one (behaviour 34). `framer`: of an upstream that frames its events in another way than the protocol does. */
  openStream(sink: StreamSink, framer?: EventFramer): StreamReader;
}

/** A request for a count of tokens. */
export type CountExchange = Pick<Exchange, 'path' | 'requestBody' | 'requestHeaders'>;

export type JsonReading =
  | {
      kind: 'answer';
      body: Uint8Array;
      usage: ReportedUsage | null;
      outputText: string;
      /** Calls of tools in the output. */
      calls: number;
      /** Arguments of those calls. */
      callArguments: () => number;
      /** Native id of an answer that its upstream continues making; absent for one that is over. */
      unfinished?: string | null;
    }
  /** 200 that carries an error, HTML, or nothing readable: nothing was delivered. */
  | { kind: 'error'; error: UpstreamError };

/** Called with every piece of generated text (content, reasoning, tool arguments), to be counted when the upstream reports no usage. */
export interface StreamSink {
  /** `isShown` is false for reasoning, and for text under names that are not known to show it; some servers do not count these in the output limit. */
  output(text: string, isShown: boolean): void;
  /** The model calls one more tool. */
  call?(): void;
}

export interface StreamReader {
  /** Upstream bytes in, client bytes out (possibly none). Throws nothing: a broken stream shows in `state`. */
  push(bytes: Uint8Array): Uint8Array;
  /** The upstream ended the connection: that may be the end of the answer, or an in-protocol error when the ending was false. */
  end(): Uint8Array;
  /** The last bytes of a stream that its upstream ended well, with what it is charged for: usage the upstream did not report, the end mark. Empty for any other. */
  close(usage: TokenUsage): Uint8Array;
  /** The gateway must end it: bytes of an in-protocol error event. */
  fail(error: UpstreamError): Uint8Array;
  /** Ends it as if the output limit was reached (`length` / `max_tokens`), with what is charged for it. */
  finishEarly(usage: TokenUsage): Uint8Array;
  /** Bytes that keep the connection alive without meaning anything; safe before the first event too. */
  keepAlive(): Uint8Array;
  readonly state: 'running' | 'finished' | 'failed';
  /** Set when an in-band error was read; before any content it may still be retried elsewhere. */
  readonly error: UpstreamError | null;
  readonly hasContent: boolean;
  /** The upstream said why it stopped: the answer is whole, whatever becomes of the connection now. */
  readonly hasFinish: boolean;
  /** The upstream's figures so far, in normal form; null while it gave none. */
  readonly usage: ReportedUsage | null;
  /** True once `usage` is final (not only message_start's). */
  readonly isUsageFinal: boolean;
  /** Native id of an answer that its upstream continues making when this stream ends before it; null or absent for any other. */
  readonly backgroundId?: string | null;
  /** Nothing of this attempt was delivered: it is not known to continue the answer that was cut. */
  readonly isWithheld?: boolean;
  /** Text of this attempt that was not delivered, as the client had it. */
  readonly overlap?: string;
}

/** An upstream's failure in neutral words; `upstreamClientError` gives it the client's shape. */
export interface UpstreamError {
  kind:
    | 'invalid_request'
    | 'context_overflow'
    | 'too_large'
    | 'not_found'
    /** The object from which the request continues is stored no more. */
    | 'gone'
    | 'rate_limited'
    | 'overloaded'
    | 'auth'
    | 'timeout'
    | 'server'
    | 'unreachable'
    | 'unreadable'
    /** Larger than the gateway reads. */
    | 'answer_too_large'
    | 'unsupported';
  /** Text fit for the client; already redacted. Kept from the upstream only for 400 and 413. */
  message: string;
  param: string | null;
  code: string | null;
  /** The status of the upstream's answer, when there was one. */
  upstreamStatus: number | null;
  retryAfterMs: number | null;
  /** A client reads these members of it by program: `ClientError.details`. */
  details?: object | null;
}

/** The kind that a code or a type of an error means. */
export type ErrorWords = Readonly<Record<string, UpstreamError['kind']>>;
