/** Reads a function's reply from left to right and refuses anything unexpected: a reply that is not understood must never be acted on. */
export class ReplyReader {
  readonly #values: readonly unknown[];
  #at = 0;

  constructor(reply: unknown) {
    if (!Array.isArray(reply)) throw new UnexpectedReply(reply);
    this.#values = reply;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#values.length;
  }

  text(): string {
    const value = this.#next();
    if (typeof value !== 'string') throw new UnexpectedReply(this.#values);
    return value;
  }

  /** Reads a safe integer, sent as such or as decimal text. */
  integer(): number {
    const value = this.#next();
    const number = typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isSafeInteger(number))
      throw new UnexpectedReply(this.#values);
    return number;
  }

  oneOf<T extends string>(...allowed: readonly T[]): T {
    const value = this.text();
    const found = allowed.find((candidate) => candidate === value);
    if (found === undefined) throw new UnexpectedReply(this.#values);
    return found;
  }

  list(): ReplyReader {
    return new ReplyReader(this.#next());
  }

  /** Reads all items to the end of the reply. */
  all<T>(readOne: (reader: ReplyReader) => T): T[] {
    const read: T[] = [];
    while (!this.isAtEnd) read.push(readOne(this));
    return read;
  }

  #next(): unknown {
    if (this.isAtEnd) throw new UnexpectedReply(this.#values);
    return this.#values[this.#at++];
  }
}

export class UnexpectedReply extends Error {
  constructor(reply: unknown) {
    super(`unexpected reply from Redis: ${JSON.stringify(reply).slice(0, 300)}`);
  }
}

/** XINFO answers names and values in turn. */
export function lastGeneratedId(info: unknown): string {
  const at = Array.isArray(info) ? info.indexOf('last-generated-id') : -1;
  const id: unknown = Array.isArray(info) && at >= 0 ? info[at + 1] : undefined;
  if (typeof id !== 'string') throw new Error('XINFO STREAM named no last id');
  return id;
}

/** A command for one type met a key of another. */
export function isWrongType(error: unknown): error is Error {
  return error instanceof Error && error.message.startsWith('WRONGTYPE');
}

/** Returns true for a record that Tollgate's functions cannot have written: a field of it, or its type, is another program's. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof UnexpectedReply || isWrongType(error);
}
