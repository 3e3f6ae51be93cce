/** Careful reading of JSON that others wrote: every accessor answers a true type or a neutral value, never throws. */
export type JsonRecord = Readonly<Record<string, unknown>>;

const EMPTY: JsonRecord = Object.freeze({});

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value when it is an object, else an empty one. */
export function record(value: unknown): JsonRecord {
  return isRecord(value) ? value : EMPTY;
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The objects of a list; everything else in it is passed over. */
export function records(value: unknown): JsonRecord[] {
  return list(value).filter(isRecord);
}

export function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** A text that says something: null for the empty one too. */
export function nonEmpty(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** For messages and comparisons. `String` throws for an object whose own `toString` is no function, which JSON can write. */
export function wordOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value) ? 'array' : 'object';
}

/** Converts as `Number` does, which throws likewise; NaN for objects and lists. */
export function numberOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Number.NaN : Number(value);
}

/** Parses bytes or text; undefined when it is no JSON (JSON's own values never are). */
export function parseJson(source: Uint8Array | string): unknown {
  try {
    const parsed: unknown = JSON.parse(
      typeof source === 'string' ? source : bufferOf(source).toString('utf8'),
    );
    return parsed;
  } catch {
    return undefined;
  }
}

const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/** Some servers begin JSON with a mark that JSON does not have; most readers pass over it. */
export function withoutMark(bytes: Uint8Array): Uint8Array {
  const { length } = BYTE_ORDER_MARK;
  return bufferOf(bytes.subarray(0, length)).equals(BYTE_ORDER_MARK)
    ? bytes.subarray(length)
    : bytes;
}

/** The same bytes as a Buffer, without copying. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function jsonBytes(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}
