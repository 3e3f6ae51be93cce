import {
  readFunctionSource,
  type FunctionName,
} from '../../../../libs/keyspace/test/past-the-stores.ts';
import { LUA_LIBRARIES } from './lua-globals.ts';
import {
  LUA_OPERATIONS,
  numberText,
  one,
  Table,
  type Lua,
  type LuaFunction,
} from './lua-values.ts';
import { runCommand, type Reply } from './redis-commands.ts';
import { RedisError, type RedisData } from './redis-data.ts';
import { translateLua } from './translate-lua.ts';

/** Runs the functions of `libs/keyspace/lua` on simulated data. `text` is that of a library, where a test alters it. */
export class RedisFunctions {
  readonly #functions = new Map<string, LuaFunction>();
  readonly #nameOf: (name: FunctionName) => string;
  #data: RedisData | undefined;
  /** Loads the library again: what functions keep in their server's memory is lost. */
  readonly restart: () => void;

  constructor(source = readFunctionSource()) {
    this.#nameOf = source.nameOf;
    const redis = new Table(
      [],
      [
        ['call', (name: Lua, ...parameters: Lua[]) => this.#call(name, parameters)],
        ['pcall', (name: Lua, ...parameters: Lua[]) => this.#tryCall(name, parameters)],
        ['acl_check_cmd', () => true],
        ['error_reply', (message: Lua) => new Table([], [['err', message]])],
        ['register_function', (registered: Lua) => this.#register(registered as Table)],
      ],
    );
    const text = translateLua(source.text.replace(/^#!.*/, ''));
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- The repository's own Lua.
    const load = new Function('L', 'G', text);
    this.restart = () => void load(LUA_OPERATIONS, { ...LUA_LIBRARIES, redis });
    this.restart();
  }

  /** Calls a function; throws `RedisError` where it answers an error. */
  call(
    data: RedisData,
    name: FunctionName,
    keys: readonly string[],
    parameters: readonly (string | number)[],
  ): Reply {
    const callee = this.#functions.get(this.#nameOf(name));
    if (!callee) throw new RedisError('ERR Function not found');
    this.#data = data;
    return fromLua(callee(new Table([...keys]), new Table(parameters.map(toBytes))));
  }

  #register(table: Table): void {
    this.#functions.set(table.get('function_name') as string, table.get('callback') as LuaFunction);
  }

  #call(name: Lua, parameters: Lua[]): Lua {
    const words = parameters.map((each) =>
      typeof each === 'number' ? numberText(each, 17) : each,
    );
    const strange = words.find((each) => typeof each !== 'string');
    if (strange !== undefined || !this.#data)
      throw new RedisError('ERR Lua redis lib command arguments must be strings or integers');
    return toLua(runCommand(this.#data, name as string, words));
  }

  #tryCall(name: Lua, parameters: Lua[]): Lua {
    try {
      return this.#call(name, parameters);
    } catch (error) {
      if (!(error instanceof RedisError)) throw error;
      return new Table([], [['err', error.message]]);
    }
  }
}

function toBytes(parameter: string | number): string {
  const text = String(parameter);
  return /[\u0080-\uffff]/.test(text) ? Buffer.from(text).toString('latin1') : text;
}

function fromBytes(text: string): string {
  return /[\u0080-\uffff]/.test(text) ? Buffer.from(text, 'latin1').toString() : text;
}

function toLua(reply: Reply): Lua {
  if (reply === null) return false;
  return Array.isArray(reply) ? new Table(reply.map(toLua)) : reply;
}

function fromLua(value: Lua): Reply {
  const first = one(value);
  if (typeof first === 'string') return fromBytes(first);
  if (typeof first === 'number') return Math.trunc(first);
  if (first === undefined || first === false) return null;
  if (first === true) return 1;
  const table = first as Table;
  const failure = table.get('err');
  if (failure !== undefined) throw new RedisError(String(failure));
  return table.list.map(fromLua);
}
