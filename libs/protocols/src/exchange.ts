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

/** Holds a request body, read once at the edge. `raw` passes through unchanged; `body` is its parsed form, which same-protocol routes never serialise again. */
export interface Ask {
  protocol: ClientProtocol;
  raw: Uint8Array;
  /** Holds the positions of the top-level members in `raw`. */
  layout: JsonLayout;
  body: Readonly<Record<string, unknown>>;
  model: string;
  /** Is true for `/v1/responses/compact`, whose answer is a shorter form of the input. */
  isCompaction: boolean;
  /** Holds the fields that the protocol's table names, except settings. */
  fields: readonly FoundField[];
  serverTools: readonly ServerTool[];
  nestedModels: readonly NestedModel[];
  isStream: boolean;
  /** Is true when the answer is made whether or not its caller waits. */
  isBackground: boolean;
  /** Is the client's own output limit (the largest of all such fields); null when it gave none. */
  outputLimit: number | null;
  /** Is the value of `n`, which is 1 by default. */
  choices: number;
  /** Is true when a chat client asked for `stream_options.include_usage`. */
  wantsStreamUsage: boolean;
  prompt: PromptFacts;
  /** Is the original request of Gemini; all other members are of the equivalent chat request. */
  generate?: GenerateBody;
}

/** Names the protocols with an endpoint that counts the tokens of a prompt. */
export type CountingProtocol = Extract<ClientProtocol, 'messages' | 'responses' | 'generate'>;
export interface CountAsk extends Pick<Ask, 'raw' | 'layout' | 'body' | 'model' | 'generate'> {
  protocol: CountingProtocol;
}

/** Holds the facts that hold sizing needs (docs/design/metering.md#hold-size). */
export interface PromptFacts {
  /** Counts the UTF-8 bytes of all text that becomes prompt tokens: messages, system, tools, schemas. A token array counts one per token. */
  textBytes: number;
  messageCount: number;
  /** Is the number of images, inline or referenced; providers scale them to a documented size. `textBytes` excludes their bytes. */
  imageCount: number;
  /** Holds the images one by one. */
  images: readonly ImageInput[];
  /** Counts the request's tools: the client's own are counted, vendors' are named without their version. */
  ownTools: number;
  vendorTools: readonly string[];
  /** Is the number of inputs that the request's bytes do not bound: documents, videos, files and other stored input. */
  unboundedInputs: number;
  /** Is the number of rounds in which provider tools may add input; each reads the prompt again. */
  serverToolUses: number;
  /** Bounds the calls of the provider's tools, by the class that counts them. */
  calls?: CallCounts;
  /** Is the number of times that the provider may shorten the conversation first; each time it reads all of it and writes a summary. */
  compactions?: number;
  /** Counts the bytes that are not text, at most a token each: inline audio, and unknown members, which an upstream may read as prompt. */
  otherBytes: number;
  /** Counts the bytes of a predicted output, which is billed as output where the model does not use it; `textBytes` excludes them. */
  predictedBytes: number;
  /** Is the conversation that the request continues, which its provider reads, too. */
  thread?: ThreadSize;
  /** Joins all prompt text on demand, for exact tokenising when the byte bound does not fit. */
  text(): string;
}

/** Describes an image of a request. Its size and the requested detail decide what providers count for it. */
export interface ImageInput {
  /** Is the size; null when the image is elsewhere, or its size cannot be relied on. */
  size: ImageSize | null;
  detail: 'low' | 'high' | null;
}

/** Lists every finer code of a refused request with its meaning; docs/errors.md is generated from it. */
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

/** Is thrown for a request that gets a 400; `param` is the path of the field, for example `messages[0].role`. */
export class InvalidRequest extends Error {
  readonly param: string | null;
  readonly code: InvalidRequestCode;
  /** A client's program reads these members of the refusal; only the messages shape has them. */
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

/** Names the protocol that an upstream speaks, and the optional endpoints that it has. */
export interface Speech {
  readonly protocol: UpstreamProtocol;
  readonly endpoints?: readonly FurtherEndpoint[] | undefined;
  /** Is set when paths depend on it. */
  readonly base_url?: string;
}

/** Seals and opens the ids of objects that the request's upstream stores for its account. */
export interface StoredIds {
  /** `thread` is set for an answer that can be continued by its id. */
  seal(native: string, thread?: ThreadSize): string;
  /** Returns the native id; null for one of another account or upstream. */
  open(sealed: string): string | null;
  /** Returns whether the id has the form of a sealed one, of any account. */
  isSealed(id: string): boolean;
}

/** Says how a request helps its provider to reuse its cached prompt. */
export interface PromptCaching {
  /** Only requests of one account share a derived key. */
  readonly accountId: number;
  /** Is true when requests without marks get them, although cache writes may cost more. */
  readonly marks: boolean;
}

export interface ExchangeRequest {
  ask: Ask;
  speech: Speech;
  /** Is needed where the upstream stores answers. */
  ids?: StoredIds;
  upstreamModel: string;
  /** Counts the granted output tokens of each choice, limited by model and balance; null for embeddings. */
  outputLimit: number | null;
  /** Lists the fields of the request that must not reach the upstream. */
  dropped?: readonly DroppedField[];
  /** Is the route's field for the default limit on chat upstreams. */
  outputLimitField: 'max_tokens' | 'max_completion_tokens';
  /** Is absent where nothing is added for a cache. */
  caching?: PromptCaching;
  /** Bounds prompt and answer in plain tokens; a message thread needs it. */
  bounds?: ThreadSize;
  /** Holds the client's request headers, with lower-case names. */
  clientHeaders: Readonly<Record<string, string | undefined>>;
  /** Is the request id (a UUIDv7). It gives made-up ids their text and made-up timestamps their time, so that an exchange needs no clock. */
  idSeed: string;
}

/** Converts a request to bytes for one upstream, and its answer to bytes for the client. It is pure and uses neither I/O nor a clock. */
export interface Exchange {
  /** Is the path after the upstream's base_url: `/chat/completions`, `/messages`, `/embeddings`, `/responses`. */
  readonly path: string;
  readonly requestBody: Uint8Array;
  /** Holds the protocol headers to send upstream (`anthropic-version`, `anthropic-beta`), from the client or chosen by the translator. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  /** Reads a whole 2xx JSON answer. */
  readJson(body: Uint8Array): JsonReading;
  /**
   * Opens the reader of a `stream: true` request. It accepts any 200: an event stream, or a JSON or HTML body in its place (behaviour 34). `framer`
   * is set for an upstream with another framing of events than the protocol's.
   */
  openStream(sink: StreamSink, framer?: EventFramer): StreamReader;
}

/** Describes a request for a count of tokens. */
export type CountExchange = Pick<Exchange, 'path' | 'requestBody' | 'requestHeaders'>;

export type JsonReading =
  | {
      kind: 'answer';
      body: Uint8Array;
      usage: ReportedUsage | null;
      outputText: string;
      /** Is the number of tool calls in the output. */
      calls: number;
      /** Is the number of arguments of those calls. */
      callArguments: () => number;
      /** Is the native id of an answer that its upstream is still making; absent for a finished one. */
      unfinished?: string | null;
    }
  /** Is a 200 with an error, HTML, or unreadable content: nothing was delivered. */
  | { kind: 'error'; error: UpstreamError };

/** Is called with every piece of generated text (content, reasoning, tool arguments), to be counted when the upstream reports no usage. */
export interface StreamSink {
  /** `isShown` is false for reasoning, and for text under unknown names; some servers do not count these in the output limit. */
  output(text: string, isShown: boolean): void;
  /** Is called when the model calls another tool. */
  call?(): void;
}

export interface StreamReader {
  /** Takes upstream bytes and returns client bytes, possibly none. Throws nothing: `state` shows a broken stream. */
  push(bytes: Uint8Array): Uint8Array;
  /** Is called when the upstream closed the connection: the answer ends, or an in-protocol error follows when it was incomplete. */
  end(): Uint8Array;
  /**
   * Returns the last bytes of a stream that its upstream ended properly: the charged usage when the upstream did not report it, and the end mark.
   * Returns nothing for any other stream.
   */
  close(usage: TokenUsage): Uint8Array;
  /** Returns an in-protocol error event for a stream that the gateway must end. */
  fail(error: UpstreamError): Uint8Array;
  /** Ends the stream as if the output limit was reached (`length` / `max_tokens`), with the charged usage. */
  finishEarly(usage: TokenUsage): Uint8Array;
  /** Returns bytes that keep the connection alive without a meaning, also before the first event. */
  keepAlive(): Uint8Array;
  readonly state: 'running' | 'finished' | 'failed';
  /** Is set when an in-band error was read; before any content another upstream may still be tried. */
  readonly error: UpstreamError | null;
  readonly hasContent: boolean;
  /** Is true when the upstream stated why it stopped: the answer is complete, whatever happens to the connection. */
  readonly hasFinish: boolean;
  /** Holds the upstream's figures so far, in normal form; null before any. */
  readonly usage: ReportedUsage | null;
  /** Is true when `usage` is final (not only message_start's). */
  readonly isUsageFinal: boolean;
  /** Is the native id of an answer that its upstream continues making after this stream ends early; null or absent for any other. */
  readonly backgroundId?: string | null;
  /** Is true when nothing of this attempt was delivered, because it is not known to continue the cut answer. */
  readonly isWithheld?: boolean;
  /** Is true when this attempt does not continue the cut answer. That is no fault of its route. */
  readonly isRefused?: boolean;
  /** Is the text of this attempt that was not delivered because the client had it. */
  readonly overlap?: string;
}

/** Describes an upstream's failure in neutral terms; `upstreamClientError` gives it the client's shape. */
export interface UpstreamError {
  kind:
    | 'invalid_request'
    | 'context_overflow'
    | 'too_large'
    | 'not_found'
    /** The object that the request continues is no longer stored. */
    | 'gone'
    | 'rate_limited'
    | 'overloaded'
    | 'auth'
    | 'timeout'
    | 'server'
    | 'unreachable'
    | 'unreadable'
    /** The answer is larger than the gateway reads. */
    | 'answer_too_large'
    | 'unsupported';
  /** Is the redacted text for the client. The upstream's own text is kept only for 400 and 413. */
  message: string;
  param: string | null;
  code: string | null;
  /** Is the status of the upstream's answer, when there was one. */
  upstreamStatus: number | null;
  retryAfterMs: number | null;
  /** A client's program reads these members: `ClientError.details`. */
  details?: object | null;
}

/** Maps a provider's error codes or types to kinds. */
export type ErrorWords = Readonly<Record<string, UpstreamError['kind']>>;
