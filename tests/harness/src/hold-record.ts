import { Packr } from 'msgpackr';

/** Is in the order of libs/keyspace/lua/shared/holds.lua. */
const FIELDS = [
  ...['st', 'acct', 'model', 'amt', 'used', 'chg', 'c0', 'c1', 'c2', 'wd'],
  ...['gen', 'sub', 'key', 'price', 'node', 'mac'],
];

type HoldValue = string | number | null;

interface RedisTexts {
  getBuffer: (key: string) => Promise<Buffer | null>;
  set: (key: string, text: Buffer, keep: 'KEEPTTL') => Promise<unknown>;
}

const packr = new Packr();

/** Reads a hold as Redis has it, by the names of its values, each as text; null where there is none. */
export async function readHold(
  redis: RedisTexts,
  key: string,
): Promise<Record<string, string> | null> {
  const packed = await redis.getBuffer(key);
  const known = Object.entries(unpack(packed)).filter(([, value]) => value !== null);
  return packed && Object.fromEntries(known.map(([name, value]) => [name, String(value)]));
}

/** Writes a hold as another program would: ids are texts, amounts numbers; null takes a value out. */
export async function alterHold(
  redis: RedisTexts,
  key: string,
  changes: Record<string, HoldValue>,
): Promise<void> {
  const hold = { ...unpack(await redis.getBuffer(key)), ...changes };
  const packed = FIELDS.map((name) => Buffer.from(packr.pack(hold[name] ?? null)));
  await redis.set(key, Buffer.concat(packed), 'KEEPTTL');
}

function unpack(packed: Buffer | null): Record<string, HoldValue> {
  const values = packed ? ((packr.unpackMultiple(packed) ?? []) as HoldValue[]) : [];
  return Object.fromEntries(FIELDS.map((name, index) => [name, values[index] ?? null]));
}
