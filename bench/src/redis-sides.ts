import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Keyspace from '../../libs/keyspace/src/index.ts';
import type * as FunctionSources from '../../libs/keyspace/src/functions/function-source.ts';
import type * as PlainRecords from '../../libs/keyspace/test/plain-records.ts';

export type RedisConnection = Keyspace.RedisConnection;

/** Is the keyspace of one release, with its Lua. */
export interface Side {
  keyspace: typeof Keyspace;
  sources: typeof FunctionSources;
  records: typeof PlainRecords;
  read: (file: string) => string;
}

/** Holds the limits of a key and its account. */
export const SCENES = {
  /** Sets no limit, as most keys have none. */
  none: { limits: {}, ofKey: [], ofAccount: [] },
  windows: {
    limits: { rpm: 1_000_000, rph: 10_000_000, rpd: 100_000_000 },
    ...{ ofKey: [], ofAccount: [] },
  },
  /** Sets three rates and three budgets. */
  limits: {
    limits: { rpm: 1_000_000, tpm: 1_000_000_000, tpd: 1_000_000_000_000 },
    ofKey: [
      [1, 'charged_tokens', 1e15, calendar(), '', 'refuse', {}, '', 0, 0],
      [2, 'tokens', 1e15, calendar(), '', 'refuse', {}, '', 0, 0],
    ],
    ofAccount: [[3, 'money', 1e15, calendar(), '', 'refuse', {}, '', 0, 0]],
  },
  /** Sets the same, with a budget of each session and a rolling one. */
  scoped: {
    limits: { rpm: 1_000_000, tpm: 1_000_000_000, tpd: 1_000_000_000_000 },
    ofKey: [
      [1, 'charged_tokens', 1e15, calendar(), '', 'refuse', {}, 's', 0, 0],
      [2, 'tokens', 1e15, '0000000000', '', 'refuse', {}, '', 0, 60],
    ],
    ofAccount: [[3, 'money', 1e15, calendar(), '', 'refuse', {}, '', 0, 0]],
  },
} as const;
export type SceneName = keyof typeof SCENES;

/** Returns days, of which the current one is the first. */
function calendar(): string {
  const day = 86_400;
  const today = Math.floor(Date.now() / 1_000 / day) * day;
  return Array.from({ length: 32 }, (_, nth) => String(today + nth * day)).join('');
}

export function budgetsOf(list: readonly unknown[]): string {
  return list.length === 0 ? '' : JSON.stringify(list);
}

/** Opens the keyspace below the root of a checkout; this one unless given. */
export async function openSide(root = path.join(import.meta.dirname, '../..')): Promise<Side> {
  const folder = path.join(root, 'libs/keyspace');
  const load = (file: string) => import(pathToFileURL(path.join(folder, file)).href);
  return {
    keyspace: await load('src/index.ts'),
    sources: await load('src/functions/function-source.ts'),
    records: await load('test/plain-records.ts'),
    read: (file) => {
      const name = path.join(folder, 'lua', `${file}.lua`);
      return existsSync(name) ? readFileSync(name, 'utf8') : '';
    },
  };
}

/** Makes `admit` and `settle` answer what their typed twins accept, and do nothing. */
export function withEmptyFunctions(side: Side): Side {
  const empty = new Map([
    [
      'admit',
      "local function admit() return { 'OK', '100', '100', '1', '1', '1', '0', '', '0' } end",
    ],
    ['settle', "local function settle() return { 'OK', '100', 'open' } end"],
  ]);
  return { ...side, read: (file) => empty.get(file) ?? side.read(file) };
}
