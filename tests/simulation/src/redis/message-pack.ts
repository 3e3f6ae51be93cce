import { LuaError, Table, typeOf, type Lua } from './lua-values.ts';

/** Writes MessagePack as Redis' cmsgpack writes it: lists for tables without names, the shortest form of integers, doubles for other numbers. */
export function packMessage(value: Lua): string {
  if (value === undefined) return '\xc0';
  if (typeof value === 'boolean') return value ? '\xc3' : '\xc2';
  if (typeof value === 'number') return packNumber(value);
  if (typeof value === 'string')
    return head(value.length, { least: 0xa0, under: 32, codes: [0xd9, 0xda, 0xdb] }) + value;
  if (!(value instanceof Table)) throw new LuaError(`cannot pack ${typeOf(value)}`);
  if (value.named.size === 0)
    return (
      head(value.list.length, { least: 0x90, under: 16, codes: [null, 0xdc, 0xdd] }) +
      value.list.map(packMessage).join('')
    );
  const entries = [...value.list.map((each, at) => [at + 1, each]), ...value.named];
  return (
    head(entries.length, { least: 0x80, under: 16, codes: [null, 0xde, 0xdf] }) +
    entries.map(([name, each]) => packMessage(name) + packMessage(each)).join('')
  );
}

function bytes(code: number, size: number, write: (buffer: Buffer) => void): string {
  const buffer = Buffer.alloc(1 + size);
  buffer[0] = code;
  write(buffer);
  return buffer.toString('latin1');
}

function head(
  size: number,
  { least, under, codes }: { least: number; under: number; codes: [number | null, number, number] },
): string {
  const [short, middle, long] = codes;
  if (size < under) return String.fromCharCode(least + size);
  if (short !== null && size < 0x100) return bytes(short, 1, (to) => to.writeUInt8(size, 1));
  if (size < 0x10000) return bytes(middle, 2, (to) => to.writeUInt16BE(size, 1));
  return bytes(long, 4, (to) => to.writeUInt32BE(size, 1));
}

function packNumber(value: number): string {
  if (!Number.isInteger(value))
    return Math.fround(value) === value
      ? bytes(0xca, 4, (to) => to.writeFloatBE(value, 1))
      : bytes(0xcb, 8, (to) => to.writeDoubleBE(value, 1));
  if (value >= 0) {
    if (value < 0x80) return String.fromCharCode(value);
    if (value < 0x100) return bytes(0xcc, 1, (to) => to.writeUInt8(value, 1));
    if (value < 0x10000) return bytes(0xcd, 2, (to) => to.writeUInt16BE(value, 1));
    if (value < 2 ** 32) return bytes(0xce, 4, (to) => to.writeUInt32BE(value, 1));
    return bytes(0xcf, 8, (to) => to.writeBigUInt64BE(BigInt(value), 1));
  }
  if (value >= -32) return String.fromCharCode(0x100 + value);
  if (value >= -0x80) return bytes(0xd0, 1, (to) => to.writeInt8(value, 1));
  if (value >= -0x8000) return bytes(0xd1, 2, (to) => to.writeInt16BE(value, 1));
  if (value >= -(2 ** 31)) return bytes(0xd2, 4, (to) => to.writeInt32BE(value, 1));
  return bytes(0xd3, 8, (to) => to.writeBigInt64BE(BigInt(value), 1));
}

/** Returns every message of the text. */
export function unpackMessage(text: string): Lua[] {
  const reader = new MessageReader(text);
  const values: Lua[] = [];
  while (!reader.isAtEnd) values.push(reader.value());
  return values;
}

class MessageReader {
  /** A character is a byte. */
  readonly #from: string;
  #at = 0;

  constructor(from: string) {
    this.#from = from;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#from.length;
  }

  value(): Lua {
    const code = this.#unsigned(1);
    if (code < 0x80) return code;
    if (code >= 0xe0) return code - 0x100;
    if (code >= 0xa0 && code < 0xc0) return this.#text(code - 0xa0);
    if (code >= 0x90 && code < 0xa0) return this.#list(code - 0x90);
    if (code < 0x90) return this.#names(code - 0x80);
    if (code >= 0xcc && code <= 0xcf) return this.#unsigned(2 ** (code - 0xcc));
    if (code >= 0xd0 && code <= 0xd3) return this.#signed(2 ** (code - 0xd0));
    if (code >= 0xd9 && code <= 0xdb) return this.#text(this.#unsigned(2 ** (code - 0xd9)));
    if (code === 0xdc || code === 0xdd) return this.#list(this.#unsigned(2 ** (code - 0xdb)));
    if (code === 0xde || code === 0xdf) return this.#names(this.#unsigned(2 ** (code - 0xdd)));
    if (code === 0xca) return this.#bytes(4).readFloatBE();
    if (code === 0xcb) return this.#bytes(8).readDoubleBE();
    if (code === 0xc0) return undefined;
    if (code === 0xc2 || code === 0xc3) return code === 0xc3;
    throw new LuaError('Bad data format in input.');
  }

  #text(size: number): string {
    if (this.#at + size > this.#from.length) throw new LuaError('Missing bytes in input.');
    this.#at += size;
    return this.#from.slice(this.#at - size, this.#at);
  }

  #bytes(size: number): Buffer {
    return Buffer.from(this.#text(size), 'latin1');
  }

  #unsigned(size: number): number {
    if (size === 8) return Number(this.#bytes(8).readBigUInt64BE());
    const bytes = this.#text(size);
    let value = 0;
    for (let at = 0; at < size; at += 1) value = value * 256 + bytes.charCodeAt(at);
    return value;
  }

  #signed(size: number): number {
    if (size === 8) return Number(this.#bytes(8).readBigInt64BE());
    const value = this.#unsigned(size);
    return value < 2 ** (8 * size - 1) ? value : value - 2 ** (8 * size);
  }

  #list(size: number): Table {
    return new Table(Array.from({ length: size }, () => this.value()));
  }

  #names(size: number): Table {
    const table = new Table();
    for (let nth = 0; nth < size; nth += 1) table.set(this.value(), this.value());
    return table;
  }
}
