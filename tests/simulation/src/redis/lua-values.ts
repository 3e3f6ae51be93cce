/** Is a value of Lua: nil is `undefined`; strings have one UTF-16 unit for each byte; an array of JavaScript is a list of several results. */
export type Lua = unknown;
export type LuaFunction = (...parameters: Lua[]) => Lua;

export class LuaError extends Error {}

/** Is a table with values 1 to n and named ones; a list has no holes but `false`. */
export class Table {
  readonly list: Lua[];
  readonly named: Map<string, Lua>;

  constructor(list: Lua[] = [], named: Iterable<readonly [string, Lua]> = []) {
    this.list = list;
    this.named = new Map(named);
  }

  get(key: Lua): Lua {
    return typeof key === 'number' ? this.list[key - 1] : this.named.get(key as string);
  }

  set(key: Lua, value: Lua): void {
    if (typeof key === 'string') {
      if (value === undefined) this.named.delete(key);
      else this.named.set(key, value);
    } else if (typeof key === 'number' && key >= 1 && key <= this.list.length + 1) {
      this.list[key - 1] = value;
      while (this.list.length > 0 && this.list.at(-1) === undefined) this.list.pop();
    } else throw new LuaError(`a table without holes has no place for ${String(key)}`);
  }
}

function isTrue(value: Lua): boolean {
  return value !== undefined && value !== false;
}

/** Returns the first of several results. */
export function one(value: Lua): Lua {
  return Array.isArray(value) ? value[0] : value;
}

export function all(value: Lua): Lua[] {
  return Array.isArray(value) ? value : [value];
}

function index(table: Lua, key: Lua): Lua {
  if (table instanceof Table) return table.get(key);
  throw new LuaError(`attempt to index ${typeOf(table)} (${String(key)})`);
}

function setIndex(table: Lua, key: Lua, value: Lua): void {
  if (!(table instanceof Table)) throw new LuaError(`attempt to index ${typeOf(table)}`);
  table.set(key, value);
}

function length(value: Lua): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof Table) return value.list.length;
  throw new LuaError(`attempt to get length of ${typeOf(value)}`);
}

/** Reads an operand of arithmetic: a number, or text of one. */
export function number(value: Lua): number {
  if (typeof value === 'number') return value;
  const read = toNumber(value);
  if (read === undefined) throw new LuaError(`attempt to perform arithmetic on ${typeOf(value)}`);
  return read;
}

export function text(value: Lua): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return numberText(value, 14);
  throw new LuaError(`attempt to concatenate ${typeOf(value)}`);
}

/** Formats as `%.<digits>g` does. */
export function numberText(value: number, digits: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 10 ** digits)
    return Object.is(value, -0) ? '-0' : String(value);
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  return String(Number(value.toPrecision(digits))).replace(/e([+-])(\d)$/, 'e$10$2');
}

function modulo(a: Lua, b: Lua): number {
  const [left, right] = [number(a), number(b)];
  return left - Math.floor(left / right) * right;
}

export function isLess(a: Lua, b: Lua): boolean {
  if (typeof a !== typeof b || (typeof a !== 'number' && typeof a !== 'string'))
    throw new LuaError(`attempt to compare ${typeOf(a)} with ${typeOf(b)}`);
  return a < (b as typeof a);
}

function isAtMost(a: Lua, b: Lua): boolean {
  return a === b ? !isLess(a, b) : isLess(a, b);
}

function call(callee: Lua, name: string, ...parameters: Lua[]): Lua {
  if (typeof callee !== 'function')
    throw new LuaError(`attempt to call ${name}, ${typeOf(callee)}`);
  return (callee as LuaFunction)(...parameters);
}

export function toNumber(value: Lua, base = 10): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const trimmed = value.trim();
  if (base === 16) return /^[\da-f]+$/i.test(trimmed) ? Number.parseInt(trimmed, 16) : undefined;
  const isNumber = /^[+-]?(?:0x[\da-f]+|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)$/i.test(trimmed);
  return isNumber ? Number(trimmed) : undefined;
}

export function typeOf(value: Lua): string {
  if (value === undefined) return 'nil';
  return value instanceof Table ? 'table' : typeof value;
}

/** Holds the helpers that translated Lua calls. */
export const LUA_OPERATIONS = {
  Table,
  isTrue,
  one,
  all,
  index,
  setIndex,
  length,
  number,
  text,
  modulo,
  isLess,
  isAtMost,
  call,
};
