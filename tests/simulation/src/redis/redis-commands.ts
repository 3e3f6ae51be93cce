import { RedisError, type RedisData } from './redis-data.ts';

export type Reply = string | number | null | Reply[];
type Command = (data: RedisData, parameters: string[]) => Reply;

const OK = 'OK';

/** Holds the commands that the functions and the stores of `libs/keyspace` send, on simulated data. */
const COMMANDS: Record<string, Command> = {
  get: (data, [key = '']) => data.string(key),
  mget: (data, keys) => keys.map((key) => data.stringOrNull(key)),
  setrange: (data, [key = '', offset, value = '']) => {
    const at = integer(offset);
    const before = (data.string(key) ?? '').padEnd(at, '\0');
    const after = before.slice(0, at) + value + before.slice(at + value.length);
    data.setString(key, after, data.expiryOf(key));
    return after.length;
  },
  set: (data, [key = '', value = '', ...options]) => {
    const named = options.map((option) => option.toUpperCase());
    if (named.includes('NX') && data.has(key)) return null;
    const at = named.indexOf('PX');
    const isKept = named.includes('KEEPTTL');
    if (named.length > 0 && at < 0 && !isKept && !named.includes('NX'))
      throw new RedisError('ERR syntax error');
    const expiresAtMs = isKept ? data.expiryOf(key) : undefined;
    data.setString(key, value, at < 0 ? expiresAtMs : data.nowMs + integer(options[at + 1]));
    return OK;
  },
  del: (data, keys) => keys.filter((key) => data.delete(key)).length,
  time: ({ nowMs }) => [String(Math.floor(nowMs / 1_000)), String((nowMs % 1_000) * 1_000)],
  pttl: (data, [key = '']) => {
    const expiresAtMs = data.expiryOf(key);
    if (expiresAtMs === undefined) return -2;
    return expiresAtMs === Infinity ? -1 : expiresAtMs - data.nowMs;
  },
  pexpire: (data, [key = '', ms]) => Number(data.setExpiry(key, data.nowMs + integer(ms))),
  expire: (data, [key = '', s]) => Number(data.setExpiry(key, data.nowMs + integer(s) * 1_000)),
  persist: (data, [key = '']) =>
    (data.expiryOf(key) ?? Infinity) === Infinity ? 0 : Number(data.setExpiry(key, Infinity)),
  hget: (data, [key = '', field = '']) => data.hash(key)?.get(field) ?? null,
  hmget: (data, [key = '', ...fields]) => {
    const hash = data.hash(key);
    return fields.map((field) => hash?.get(field) ?? null);
  },
  hgetall: (data, [key = '']) => [...(data.hash(key) ?? [])].flat(),
  hset: (data, [key = '', ...pairs]) => {
    if (pairs.length === 0 || pairs.length % 2 > 0)
      throw new RedisError('ERR wrong number of arguments');
    const hash = data.changeHash(key);
    const before = hash.size;
    for (let at = 0; at < pairs.length; at += 2)
      hash.set(pairs[at] as string, pairs[at + 1] as string);
    return hash.size - before;
  },
  hsetnx: (data, [key = '', field = '', value = '']) => {
    if (data.hash(key)?.has(field)) return 0;
    data.changeHash(key).set(field, value);
    return 1;
  },
  hkeys: (data, [key = '']) => [...(data.hash(key)?.keys() ?? [])],
  hdel: (data, [key = '', ...fields]) => {
    if (!data.hash(key)) return 0;
    const hash = data.changeHash(key);
    const count = fields.filter((field) => hash.delete(field)).length;
    data.deleteEmpty(key);
    return count;
  },
  zadd: (data, [key = '', ...rest]) => {
    const isUpdate = rest[0] === 'XX';
    const [score = '', member = ''] = isUpdate ? rest.slice(1) : rest;
    const isKnown = data.scores(key).has(member);
    if (isUpdate && !isKnown) return 0;
    data.changeScores(key).set(member, float(score));
    return isKnown ? 0 : 1;
  },
  zrem: (data, [key = '', ...members]) => {
    if (data.scores(key).size === 0) return 0;
    const scores = data.changeScores(key);
    const count = members.filter((member) => scores.delete(member)).length;
    data.deleteEmpty(key);
    return count;
  },
  zscore: (data, [key = '', member = '']) => {
    const score = data.scores(key).get(member);
    return score === undefined ? null : String(score);
  },
  zcount: (data, [key = '', from = '', to = '']) => {
    const least = from.startsWith('(') ? float(from.slice(1)) : float(from);
    const isOpen = from.startsWith('(');
    return [...data.scores(key).values()].filter(
      (score) => (isOpen ? score > least : score >= least) && score <= float(to),
    ).length;
  },
  zremrangebyscore: (data, [key = '', from = '', to = '']) => {
    const found = [...data.scores(key)].filter(
      ([, score]) => score >= float(from) && score <= float(to),
    );
    return Number(runCommand(data, 'zrem', [key, ...found.map(([member]) => member)]));
  },
  zcard: (data, [key = '']) => data.scores(key).size,
  zrangebyscore: (data, [key = '', from = '', to = '', limit, offset, count]) => {
    const [least, most] = [float(from), float(to)];
    const found = [...data.scores(key)]
      .filter(([, score]) => score >= least && score <= most)
      .toSorted(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
      .map(([member]) => member);
    if (limit === undefined) return found;
    return found.slice(integer(offset), integer(offset) + integer(count));
  },
  sadd: (data, [key = '', ...members]) => {
    const set = data.changeMembers(key);
    const before = set.size;
    for (const member of members) set.add(member);
    return set.size - before;
  },
  srem: (data, [key = '', ...members]) => {
    if (!data.members(key)) return 0;
    const set = data.changeMembers(key);
    const count = members.filter((member) => set.delete(member)).length;
    data.deleteEmpty(key);
    return count;
  },
  smembers: (data, [key = '']) => [...(data.members(key) ?? [])],
  xadd: (data, [key = '', id, ...fields]) => {
    if (id !== '*') throw new RedisError('ERR only ids of its own are known');
    const stream = data.changeStream(key);
    if (data.nowMs > stream.lastMs) Object.assign(stream, { lastMs: data.nowMs, lastNumber: 0 });
    else stream.lastNumber += 1;
    const given = `${stream.lastMs}-${stream.lastNumber}`;
    stream.entries.push({ id: given, fields });
    return given;
  },
  xlen: (data, [key = '']) => data.stream(key)?.entries.length ?? 0,
  xdel: (data, [key = '', ...ids]) => {
    if (!data.stream(key)) return 0;
    const stream = data.changeStream(key);
    const before = stream.entries.length;
    const gone = new Set(ids);
    stream.entries = stream.entries.filter(({ id }) => !gone.has(id));
    return before - stream.entries.length;
  },
  xrange: (data, [key = '', from = '', to, , count = 'Infinity']) => {
    if (to !== '+') throw new RedisError('ERR only ranges to the end are known');
    const entries = data.stream(key)?.entries ?? [];
    return entries
      .filter(({ id }) => from === '-' || isAfter(id, from.slice(1)))
      .slice(0, Number(count))
      .map(({ id, fields }): Reply => [id, [...fields]]);
  },
  xinfo: (data, [, key = '']) => {
    const stream = data.stream(key);
    if (!stream) throw new RedisError('ERR no such key');
    return ['last-generated-id', `${stream.lastMs}-${stream.lastNumber}`];
  },
};

/** Runs a command; throws `RedisError` as Redis answers errors. */
export function runCommand(data: RedisData, name: string, parameters: readonly unknown[]): Reply {
  const command = COMMANDS[name.toLowerCase()];
  if (!command) throw new TypeError(`the simulated Redis does not know ${name}`);
  return command(data, parameters.flat().map(String));
}

function integer(given: string | undefined): number {
  if (!/^-?\d+$/.test(given ?? ''))
    throw new RedisError('ERR value is not an integer or out of range');
  return Number(given);
}

function float(given: string): number {
  if (given === '-inf' || given === '+inf') return given === '-inf' ? -Infinity : Infinity;
  const read = given === '' ? NaN : Number(given);
  if (Number.isNaN(read)) throw new RedisError('ERR value is not a valid float');
  return read;
}

function isAfter(id: string, other: string): boolean {
  const [ms = 0, number = 0] = id.split('-').map(Number);
  const [otherMs = 0, otherNumber = 0] = other.split('-').map(Number);
  return ms > otherMs || (ms === otherMs && number > otherNumber);
}
