import {
  all,
  isLess,
  LuaError,
  number,
  one,
  Table,
  text,
  toNumber,
  typeOf,
  type Lua,
  type LuaFunction,
} from './lua-values.ts';
import { packMessage, unpackMessage } from './message-pack.ts';

/** Maps patterns of Lua that the functions use. */
const PATTERNS: Record<string, RegExp> = {
  '^%d+$': /[0-9]+$/y,
  '^(%d+),(%d+),(%d*),(%d*)%+?(%d*),(s?%x*),(u?%x*)$':
    /([0-9]+),([0-9]+),([0-9]*),([0-9]*)\+?([0-9]*),(s?[0-9A-Fa-f]*),(u?[0-9A-Fa-f]*)$/y,
  '^(-?%d+),(-?%d+)$': /(-?[0-9]+),(-?[0-9]+)$/y,
  '^(%d+):(%d+):(%d+)%+?(%d*):?([^,]*),?': /([0-9]+):([0-9]+):([0-9]+)\+?([0-9]*):?([^,]*),?/y,
};

/** Holds the globals of Redis' Lua beside `redis`, as far as the functions use them. */
export const LUA_LIBRARIES = {
  tonumber: (value: Lua, base?: Lua) => toNumber(value, base as number | undefined),
  tostring: (value: Lua) => text(value),
  type: (value: Lua) => typeOf(value),
  pcall: tryCall,
  unpack: (table: Lua, from: Lua = 1) => (table as Table).list.slice((from as number) - 1),
  math: named({
    floor: (value) => Math.floor(number(value)),
    ceil: (value) => Math.ceil(number(value)),
    min: (...values) => Math.min(...values.map(number)),
    max: (...values) => Math.max(...values.map(number)),
  }),
  string: named({
    find,
    sub,
    byte,
    format,
    rep: (value, count) => text(value).repeat(number(count)),
  }),
  table: named({
    insert: (table, value) => void (table as Table).list.push(value),
    concat: (table, between = '') => (table as Table).list.map(text).join(text(between)),
    sort: (table) => void (table as Table).list.sort((a, b) => (isLess(a, b) ? -1 : 1)),
  }),
  struct: named({ pack, unpack }),
  cjson: named({
    encode: (value) => encodeJson(value),
    decode: (value) => decodeJson(text(value)),
  }),
  cmsgpack: named({
    pack: (...values) => values.map(packMessage).join(''),
    unpack: (bytes) => unpackMessage(text(bytes)),
  }),
};

function named(functions: Record<string, (...parameters: Lua[]) => Lua>): Table {
  return new Table([], Object.entries(functions));
}

/** Returns the places at which the pattern begins and ends, from 1, and what it captures. */
function find(value: Lua, pattern: Lua, from: Lua = 1, isPlain: Lua = false): Lua {
  const [where, what, start] = [text(value), text(pattern), number(from)];
  if (isPlain === true) {
    const at = where.indexOf(what, start - 1);
    return at < 0 ? undefined : [at + 1, at + what.length];
  }
  const expression = PATTERNS[what];
  if (!expression) throw new LuaError(`the pattern ${what} is not known`);
  expression.lastIndex = start - 1;
  const found = expression.exec(where);
  return found ? [start, start - 1 + found[0].length, ...found.slice(1)] : undefined;
}

/** Returns the bounds of a range whose ends are both included; below zero they count from the end. */
function range(size: number, from: Lua, to: Lua): [number, number] {
  const place = (at: number): number => (at < 0 ? Math.max(size + at + 1, 0) : at);
  return [Math.max(place(number(from)), 1) - 1, Math.min(place(number(to)), size)];
}

function sub(value: Lua, from: Lua, to: Lua = -1): Lua {
  const whole = text(value);
  return whole.slice(...range(whole.length, from, to));
}

function byte(value: Lua, at: Lua = 1): Lua {
  const whole = text(value);
  const [from] = range(whole.length, at, at);
  return from < whole.length ? whole.charCodeAt(from) : undefined;
}

function format(pattern: Lua, ...values: Lua[]): Lua {
  if (pattern !== '%d') throw new LuaError(`the format ${String(pattern)} is not known`);
  return BigInt(Math.trunc(number(values[0]))).toString();
}

function pack(pattern: Lua, ...values: Lua[]): Lua {
  const { bytes, places } = formatOf(pattern);
  const buffer = Buffer.alloc(bytes);
  for (const [nth, { at, isDouble }] of places.entries()) {
    if (isDouble) buffer.writeDoubleBE(number(values[nth]), at);
    else buffer.writeUInt32BE(number(values[nth]) >>> 0, at);
  }
  return buffer.toString('latin1');
}

/** Returns the values, then where the next would begin. */
function unpack(pattern: Lua, value: Lua, from: Lua = 1): Lua {
  const { bytes, places } = formatOf(pattern);
  const [whole, start] = [text(value), number(from) - 1];
  if (start < 0 || start + bytes > whole.length) throw new LuaError('data string too short');
  const buffer = Buffer.from(whole.slice(start, start + bytes), 'latin1');
  const values = places.map(({ at, isDouble }) =>
    isDouble ? buffer.readDoubleBE(at) : buffer.readUInt32BE(at),
  );
  return [...values, start + bytes + 1];
}

interface Place {
  at: number;
  isDouble: boolean;
}

/** Reads integers of four bytes and doubles, the highest byte first: the only ones that the functions use. */
function formatOf(pattern: Lua): { bytes: number; places: Place[] } {
  const written = text(pattern);
  if (!/^>(?:I4|d)+$/.test(written)) throw new LuaError(`the structure ${written} is not known`);
  let bytes = 0;
  const places = (written.match(/I4|d/g) ?? []).map((letter): Place => {
    const place = { at: bytes, isDouble: letter === 'd' };
    bytes += place.isDouble ? 8 : 4;
    return place;
  });
  return { bytes, places };
}

function tryCall(callee: Lua, ...parameters: Lua[]): Lua[] {
  try {
    return [true, ...all((callee as LuaFunction)(...parameters))];
  } catch (error) {
    if (!(error instanceof LuaError)) throw error;
    return [false, error.message];
  }
}

function decodeJson(value: string): Lua {
  try {
    return decoded(JSON.parse(value));
  } catch {
    throw new LuaError('Expected value but found invalid token');
  }
}

/** Escapes text as lua-cjson does. */
function encodeJson(value: Lua): string {
  if (typeof one(value) !== 'string') throw new LuaError(`cannot encode ${typeOf(value)}`);
  return JSON.stringify(value).replaceAll('/', '\\/').replaceAll('\x7f', '\\u007f');
}

/** Lists and objects of JSON are tables. */
function decoded(value: unknown): Lua {
  if (Array.isArray(value)) return new Table(value.map(decoded));
  if (value !== null && typeof value === 'object')
    return new Table(
      [],
      Object.entries(value).map(([name, each]) => [name, decoded(each)]),
    );
  return value as Lua;
}
