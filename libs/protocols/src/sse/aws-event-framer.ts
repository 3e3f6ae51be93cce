import { EventStreamCodec } from '@smithy/eventstream-codec';
import { SseEvent, type EventFramer } from './sse-framer.ts';

/** AWS limits a message to this: https://smithy.io/2.0/aws/amazon-eventstream.html */
export const AWS_MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
/** Is the size of two lengths and two checksums. */
const MESSAGE_BYTES_MIN = 16;
const LENGTH_BYTES = 4;

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString('utf8'),
  (text) => Buffer.from(text, 'utf8'),
);

/** Describes a message of an AWS event stream whose checksums are right. */
export interface AwsMessage {
  /** Is the type of the event. */
  readonly type: string;
  readonly payload: Buffer;
}

/** Maps each exception to the type by which messages names the error. */
const ERROR_TYPES: Readonly<Record<string, string>> = {
  throttlingException: 'rate_limit_error',
  serviceUnavailableException: 'overloaded_error',
  modelNotReadyException: 'overloaded_error',
  modelTimeoutException: 'timeout_error',
  validationException: 'invalid_request_error',
};

/** Cuts an AWS event stream into events. A message that is too long, has a wrong checksum or is no event ends it. */
export class AwsEventFramer implements EventFramer {
  hasFailed = false;
  eventEnd = 0;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  readonly #eventOf: (message: AwsMessage) => string;

  /** Takes `eventOf`, which writes a message as a server-sent event. An error that it throws ends the stream. */
  constructor(eventOf: (message: AwsMessage) => string) {
    this.#eventOf = eventOf;
  }

  get isBetweenEvents(): boolean {
    return this.#pendingBytes === 0;
  }

  next(chunk: Buffer, start: number): SseEvent | null {
    if (this.hasFailed) return null;
    const length = this.#lengthWith(chunk, start);
    if (length !== null && (length < MESSAGE_BYTES_MIN || length > AWS_MESSAGE_BYTES_MAX))
      return this.#fail();
    if (length === null || this.#pendingBytes + chunk.length - start < length) {
      this.#pending.push(chunk.subarray(start));
      this.#pendingBytes += chunk.length - start;
      return null;
    }
    this.eventEnd = start + length - this.#pendingBytes;
    const message = this.#taken(chunk.subarray(start, this.eventEnd));
    try {
      return new SseEvent(Buffer.from(this.#textOf(message)));
    } catch {
      return this.#fail();
    }
  }

  end(): null {
    return null;
  }

  /** Returns the length that the first bytes of the message state; null while they have not come. */
  #lengthWith(chunk: Buffer, start: number): number | null {
    if (this.#pendingBytes + chunk.length - start < LENGTH_BYTES) return null;
    const [first = chunk.subarray(start), ...rest] = this.#pending;
    if (first.length >= LENGTH_BYTES) return first.readUInt32BE();
    const head = [first, ...rest, chunk.subarray(start, start + LENGTH_BYTES)];
    return Buffer.concat(head).readUInt32BE();
  }

  #taken(last: Buffer): Buffer {
    const message = this.#pendingBytes === 0 ? last : Buffer.concat([...this.#pending, last]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return message;
  }

  #textOf(message: Buffer): string {
    const { headers, body } = codec.decode(message);
    const header = (name: string): string => String(headers[name]?.value ?? '');
    const payload = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    if (header(':message-type') === 'event')
      return this.#eventOf({ type: header(':event-type'), payload });
    return errorEvent(header(':exception-type') || header(':error-code'), payload);
  }

  #fail(): null {
    this.hasFailed = true;
    this.#taken(Buffer.alloc(0));
    return null;
  }
}

/** Writes an exception as the error event that all readers know. */
function errorEvent(exception: string, payload: Buffer): string {
  const { message = exception } = JSON.parse(payload.toString('utf8') || '{}');
  const type = ERROR_TYPES[exception] ?? 'api_error';
  const error = { type: 'error', error: { type, message: String(message) } };
  return `event: error\ndata: ${JSON.stringify(error)}\n\n`;
}

/** Writes JSON as the data of an event: a line break in it separates tokens only. */
export function oneLine(json: Buffer): string {
  return json.toString('utf8').replaceAll(/[\r\n]+/g, ' ');
}
