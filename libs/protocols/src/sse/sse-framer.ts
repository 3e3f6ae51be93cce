import { bufferOf } from '../json/json-guard.ts';

/** An event longer than this is no model output; reading on would only grow memory. */
export const SSE_EVENT_BYTES_MAX = 8 * 1024 * 1024;

/** Cuts the bytes of a stream into events, which have the form of server-sent ones whatever framed them. */
export interface EventFramer {
  /** Is true once nothing more is read: an event is too long, or its bytes are broken. */
  readonly hasFailed: boolean;
  /** Every byte so far belongs to an event that was given. */
  readonly isBetweenEvents: boolean;
  /** Is the place of the end of the event that `next` gave, in the chunk that it was given. */
  readonly eventEnd: number;
  /** Returns the next event, from `start` of the chunk on; null, and the rest kept, when it does not end in it. */
  next(chunk: Buffer, start: number): SseEvent | null;
  /** Returns the event that was never closed, where the framing takes one. */
  end(): SseEvent | null;
}

/** Is one server-sent event. Its fields are looked for only when asked for: an event that is passed on untouched is never taken apart. */
export class SseEvent {
  /** Holds all its bytes, comments and closing blank line included. */
  readonly raw: Buffer;
  /** Its bytes came in more than one piece. */
  readonly isPieced: boolean;
  #fields: Fields | null = null;

  constructor(raw: Buffer, isPieced = false) {
    this.raw = raw;
    this.isPieced = isPieced;
  }

  /** Is the `event:` field, '' when absent. */
  get name(): string {
    return (this.#fields ??= readFields(this.raw)).name;
  }

  /** Is true when the event carries nothing although it has data lines: some relays keep connections alive so, and SDKs fail to parse it. */
  get isHollow(): boolean {
    return (
      this.data !== null &&
      this.data.length < HOLLOW_BYTES_MAX &&
      this.data.toString('latin1').trim() === ''
    );
  }

  /** Is true for chat's end mark. */
  get isDone(): boolean {
    return (
      this.data !== null &&
      this.data.length < DONE_BYTES_MAX &&
      this.data.toString('latin1').trim() === '[DONE]'
    );
  }

  /** Joins the `data:` lines by newlines; null when there is none (comments, blank lines). */
  get data(): Buffer | null {
    return (this.#fields ??= readFields(this.raw)).data;
  }
}

const HOLLOW_BYTES_MAX = 16;
/** Is the most bytes that the value takes, with any white space around it. */
const DONE_BYTES_MAX = 64;

interface Fields {
  name: string;
  data: Buffer | null;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;

/**
 * Cuts a byte stream into events. Bytes may be split anywhere, also inside a UTF-8 character: only line feeds are looked for.
 * It tolerates CRLF and LF and a missing last blank line (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).
 */
export class SseFramer implements EventFramer {
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  /** Counts the bytes seen of the current line; `isLineCr` is true when a carriage return is all there is: a line is blank across chunk borders too. */
  private lineBytes = 0;
  private isLineCr = false;
  private hasOverflowed = false;
  private endOfEvent = 0;

  /** Is true once an event was longer than the limit; nothing more is read then. */
  get hasFailed(): boolean {
    return this.hasOverflowed;
  }

  /** Every byte so far belongs to an event that was given. */
  get isBetweenEvents(): boolean {
    return this.pending.length === 0 && this.lineBytes === 0;
  }

  /** Is the place of the end of the event that `next` gave, in the chunk that it was given. */
  get eventEnd(): number {
    return this.endOfEvent;
  }

  push(bytes: Uint8Array): SseEvent[] {
    const chunk = bufferOf(bytes);
    const events: SseEvent[] = [];
    for (let event = this.next(chunk, 0); event; event = this.next(chunk, this.endOfEvent))
      events.push(event);
    return events;
  }

  /** Returns the next event, from `start` of the chunk on; null, and the rest kept, when it does not end in it. */
  next(chunk: Buffer, start: number): SseEvent | null {
    let lineStart = start;
    for (let feed = chunk.indexOf(LF, start); feed !== -1; feed = chunk.indexOf(LF, lineStart)) {
      const length = this.lineBytes + (feed - lineStart);
      const isBlank = length === 0 || (length === 1 && (this.isLineCr || chunk[feed - 1] === CR));
      this.lineBytes = 0;
      this.isLineCr = false;
      lineStart = feed + 1;
      if (!isBlank) continue;
      this.endOfEvent = lineStart;
      const isPieced = this.pending.length > 0;
      return new SseEvent(this.takePending(chunk.subarray(start, lineStart)), isPieced);
    }
    this.keep(chunk, start, lineStart);
    return null;
  }

  /** Returns the event that was never closed by a blank line, if any. */
  end(): SseEvent | null {
    const rest = this.takePending(Buffer.alloc(0));
    return rest.length === 0 ? null : new SseEvent(rest);
  }

  private keep(chunk: Buffer, eventStart: number, lineStart: number): void {
    if (eventStart < chunk.length) this.pending.push(chunk.subarray(eventStart));
    this.pendingBytes += chunk.length - eventStart;
    if (this.lineBytes === 0 && lineStart < chunk.length) this.isLineCr = chunk[lineStart] === CR;
    this.lineBytes += chunk.length - lineStart;
    if (this.pendingBytes <= SSE_EVENT_BYTES_MAX) return;
    this.hasOverflowed = true;
    this.takePending(Buffer.alloc(0));
  }

  private takePending(last: Buffer): Buffer {
    if (this.pending.length === 0) return last;
    const whole = Buffer.concat([...this.pending, last]);
    this.pending = [];
    this.pendingBytes = 0;
    return whole;
  }
}

function readFields(raw: Buffer): Fields {
  let name = '';
  let data: Buffer | null = null;
  for (let start = hasByteOrderMark(raw) ? 3 : 0; start < raw.length;) {
    const feed = raw.indexOf(LF, start);
    const next = feed === -1 ? raw.length : feed + 1;
    let end = feed === -1 ? raw.length : feed;
    if (end > start && raw[end - 1] === CR) end -= 1;
    if (isField(raw, start, 'data')) {
      const value = fieldValue(raw, start + 4, end);
      data = data === null ? value : Buffer.concat([data, Buffer.from('\n'), value]);
    } else if (isField(raw, start, 'event'))
      name = fieldValue(raw, start + 5, end).toString('utf8');
    start = next;
  }
  return { name, data };
}

/** One may stand before the first event, and says nothing. */
function hasByteOrderMark(raw: Buffer): boolean {
  return raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf;
}

function isField(raw: Buffer, start: number, field: 'data' | 'event'): boolean {
  for (let at = 0; at < field.length; at += 1)
    if (raw[start + at] !== field.charCodeAt(at)) return false;
  return raw[start + field.length] === COLON;
}

/** `colon` is where the colon stands; one space after it belongs to the syntax. */
function fieldValue(raw: Buffer, colon: number, end: number): Buffer {
  const start = raw[colon + 1] === SPACE ? colon + 2 : colon + 1;
  return raw.subarray(Math.min(start, end), end);
}
