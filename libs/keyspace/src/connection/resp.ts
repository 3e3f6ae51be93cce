/** Reads replies in RESP2 as a few functions need them (https://redis.io/docs/latest/develop/reference/protocol-spec/): decoding by ioredis costs twice as much. */

/** Is an error that Redis answered with; its message is the whole line, as ioredis has it. */
export class RespError extends Error {
  override readonly name = 'ReplyError';
}

const [PLUS, MINUS, COLON, DOLLAR, STAR, CR] = [0x2b, 0x2d, 0x3a, 0x24, 0x2a, 0x0d];

const NONE: Buffer = Buffer.alloc(0);

/** Is a list of which values are missing. */
interface OpenList {
  values: unknown[];
  length: number;
}

/** Reads replies out of bytes as they arrive. It reads nothing twice, however a reply is cut into packets. */
export class RespReader {
  readonly #onReply: (reply: unknown) => void;
  readonly #open: OpenList[] = [];
  /** Holds the beginning of a value that has not come whole. */
  #left = NONE;
  #bytes = NONE;
  #at = 0;

  constructor(onReply: (reply: unknown) => void) {
    this.#onReply = onReply;
  }

  /** The bytes may be written over afterwards. Throws for bytes that are no RESP2; the connection is of no use then. */
  push(bytes: Buffer): void {
    this.#bytes = this.#left.length === 0 ? bytes : Buffer.concat([this.#left, bytes]);
    this.#at = 0;
    while (this.#at < this.#bytes.length && this.#readOne());
    this.#left = this.#at === this.#bytes.length ? NONE : this.#unread(bytes);
  }

  /** Copies the rest where its bytes may be overwritten; what was joined is not copied. */
  #unread(pushed: Buffer): Buffer {
    const left = this.#bytes.subarray(this.#at);
    return this.#bytes === pushed ? Buffer.from(left) : left;
  }

  /** Returns false when the rest of the value has not come yet. */
  #readOne(): boolean {
    const bytes = this.#bytes;
    const begin = this.#at;
    const end = bytes.indexOf(CR, begin);
    if (end === -1 || end + 1 >= bytes.length) return false;
    const kind = bytes[begin];
    if (kind === DOLLAR) return this.#readText(this.#integer(begin + 1, end), end + 2);
    this.#at = end + 2;
    if (kind === COLON) this.#add(this.#integer(begin + 1, end));
    else if (kind === STAR) this.#openList(this.#integer(begin + 1, end));
    else if (kind === PLUS) this.#add(bytes.toString('utf8', begin + 1, end));
    else if (kind === MINUS) this.#add(new RespError(bytes.toString('utf8', begin + 1, end)));
    else throw new Error(`not a reply of Redis: begins with byte ${kind}`);
    return true;
  }

  #readText(length: number, from: number): boolean {
    if (length >= 0 && from + length + 2 > this.#bytes.length) return false;
    this.#at = length < 0 ? from : from + length + 2;
    this.#add(length < 0 ? null : this.#bytes.toString('utf8', from, from + length));
    return true;
  }

  #openList(length: number): void {
    if (length <= 0) this.#add(length < 0 ? null : []);
    else this.#open.push({ values: [], length });
  }

  #add(value: unknown): void {
    let whole = value;
    for (let list = this.#open.at(-1); list; list = this.#open.at(-1)) {
      list.values.push(whole);
      if (list.values.length < list.length) return;
      whole = list.values;
      this.#open.pop();
    }
    this.#onReply(whole);
  }

  #integer(from: number, end: number): number {
    const bytes = this.#bytes;
    const isNegative = bytes[from] === MINUS;
    let value = 0;
    for (let at = isNegative ? from + 1 : from; at < end; at += 1) {
      const digit = (bytes[at] as number) - 0x30;
      if (digit < 0 || digit > 9) throw new Error('not a number in a reply of Redis');
      value = value * 10 + digit;
    }
    return isNegative ? -value : value;
  }
}
