/** Reads JSON of others carefully: every accessor returns the right type or a neutral value, and never throws. */
export type JsonRecord = Readonly<Record<string, unknown>>;

const EMPTY: JsonRecord = Object.freeze({});

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value when it is an object, otherwise an empty object. */
export function record(value: unknown): JsonRecord {
  return isRecord(value) ? value : EMPTY;
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the objects of a list and skips everything else in it. */
export function records(value: unknown): JsonRecord[] {
  return list(value).filter(isRecord);
}

export function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Returns a text that is not empty; otherwise null. */
export function nonEmpty(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Formats a value for messages and comparisons. `String` throws for an object whose own `toString` is not a function, which JSON can contain. */
export function wordOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value) ? 'array' : 'object';
}

/** Converts as `Number` does, which throws for the same objects; returns NaN for objects and lists. */
export function numberOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Number.NaN : Number(value);
}

/** Parses bytes or text; returns undefined when it is not JSON, whose values are never undefined. */
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

/** Removes the byte order mark with which some servers begin JSON and which most readers skip. */
export function withoutMark(bytes: Uint8Array): Uint8Array {
  const { length } = BYTE_ORDER_MARK;
  return bufferOf(bytes.subarray(0, length)).equals(BYTE_ORDER_MARK)
    ? bytes.subarray(length)
    : bytes;
}

/** Returns the same bytes as a Buffer, without copying. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function jsonBytes(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}
