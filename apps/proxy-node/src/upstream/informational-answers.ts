import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** No head of an answer is longer. Longer bytes without an end go to the parser unchanged. */
const HEAD_BYTES_MAX = 16 * 1024;
/** Matches every informational status except 101, which no request asks for. */
const INFORMATIONAL = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/;
const LINES = ['HTTP/1.1 100 ', 'HTTP/1.0 100 '] as const;
const END_OF_HEAD = '\r\n\r\n';

const filters = new WeakMap<object, AnswerFilter>();

/**
 * Removes informational answers from what the socket reads. A client must understand unrequested ones (RFC 9110 15.2), and some servers send `100
 * Continue` for each long body, which undici treats as a broken answer.
 */
export function skipInformational(socket: Socket): void {
  filters.set(socket, new AnswerFilter(socket));
}

/** Filters only between a request and the head of its answer, because a body may contain the same bytes. */
class AnswerFilter {
  #isAwaited = false;
  /** Holds the beginning of a possible informational answer. */
  #held: Buffer | null = null;

  constructor(socket: Socket) {
    const read = socket.read.bind(socket);
    socket.read = (size?: number): unknown =>
      size === undefined && this.#isAwaited ? this.#next(read) : read(size);
  }

  awaitHead(): void {
    this.#isAwaited = true;
    this.#held = null;
  }

  #next(read: () => Buffer | null): Buffer | null {
    for (let chunk = read(); chunk !== null; chunk = read()) {
      const bytes = withoutInformational(this.#held ? Buffer.concat([this.#held, chunk]) : chunk);
      this.#held = bytes;
      if (mayBeInformational(bytes) && bytes.length < HEAD_BYTES_MAX) continue;
      this.#isAwaited = false;
      return bytes;
    }
    return null;
  }
}

/** Returns the bytes without complete informational answers at their beginning. */
function withoutInformational(bytes: Buffer): Buffer {
  let rest = bytes;
  while (INFORMATIONAL.test(rest.toString('latin1', 0, LINES[0].length))) {
    const end = rest.indexOf(END_OF_HEAD);
    if (end === -1) return rest;
    rest = rest.subarray(end + END_OF_HEAD.length);
  }
  return rest;
}

/** Returns true for a possible beginning of one, and for no bytes. */
function mayBeInformational(bytes: Buffer): boolean {
  const line = bytes.toString('latin1', 0, LINES[0].length);
  return LINES.some((start) => INFORMATIONAL.test(line + start.slice(line.length)));
}

subscribe('undici:client:sendHeaders', (message) => {
  const { socket } = message as { socket: object };
  filters.get(socket)?.awaitHead();
});
