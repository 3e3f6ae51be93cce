import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OWNERS, READ_MODELS } from './table-owners.ts';

const root = join(import.meta.dirname, '../..');
const APP = 'apps/control-plane/src/';
const tracked = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', APP],
  { cwd: root, encoding: 'utf8' },
)
  .split('\n')
  .filter((file) => file.endsWith('.ts') && existsSync(join(root, file)));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const created = new Set(
  tracked
    .filter((file) => file.includes('/platform/database/') && !file.endsWith('.spec.ts'))
    .flatMap((file) => [...read(file).matchAll(/CREATE TABLE (?:IF NOT EXISTS )?([a-z_]+)/g)])
    .map(([, table = '']) => table),
);
const ownerOf = new Map(
  Object.entries(OWNERS).flatMap(([owner, tables]) => tables.map((table) => [table, owner])),
);

interface Named {
  table: string;
  isWritten: boolean;
}

const SOURCE =
  /\b(DELETE FROM|FROM|JOIN|INTO|UPDATE|TABLE|ONLY)\s+((?:"?[a-z_]+"?)(?:\s+(?:AS\s+)?[a-z]{1,3}\b)?(?:\s*,\s*[a-z_]+(?:\s+[a-z]{1,3}\b)?)*)/g;
const WRITES = new Set(['DELETE FROM', 'INTO', 'UPDATE']);

/** Tables that SQL, an entity or a string of this text names. */
function tablesIn(text: string): Named[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');
  const inSql = [...code.matchAll(SOURCE)].flatMap(([, verb = '', list = '']) =>
    list.split(',').map((name) => ({
      table: name.trim().replaceAll('"', '').split(/\s/)[0] ?? '',
      isWritten: WRITES.has(verb),
    })),
  );
  const entities = [...code.matchAll(/@Entity\('([a-z_]+)'/g)];
  // A table whose name is one word is too common a word to look for.
  const strings = [...code.matchAll(/'([a-z]+(?:_[a-z]+)+)'/g)];
  const named = [...entities, ...strings].map(([, table = '']) => ({ table, isWritten: false }));
  return [...inSql, ...named].filter(({ table }) => created.has(table));
}

/** Returns the tables of other features that a file of `feature` names. */
function foreignIn(feature: string, text: string): Named[] {
  return tablesIn(text).filter(({ table }) => ownerOf.get(table) !== feature);
}

const foreign = new Map(
  tracked.flatMap((file) => {
    const [, path = '', feature = ''] = /\/features\/(([^/]+)\/.+)$/.exec(file) ?? [];
    if (feature === '' || file.endsWith('.spec.ts')) return [];
    const found = foreignIn(feature, read(file));
    return found.length === 0 ? [] : [[path, found] as const];
  }),
);

test('every table has one owner', () => {
  expect([...created].filter((table) => !ownerOf.has(table))).toEqual([]);
  expect([...ownerOf.keys()].filter((table) => !created.has(table))).toEqual([]);
  expect(Object.values(OWNERS).flat()).toHaveLength(ownerOf.size);
});

test('a feature names tables of others in its read models only', () => {
  const found = [...foreign].map(([file, named]) => [
    file,
    [...new Set(named.map(({ table }) => table))].toSorted(),
  ]);
  const allowed = Object.entries(READ_MODELS).map(([file, { tables }]) => [
    file,
    [...tables].toSorted(),
  ]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(allowed));
  // The list gets shorter, never longer.
  expect(allowed.length).toBeLessThanOrEqual(11);
});

test('a read model reads: only the owner writes, but for the writers of the list', () => {
  const writers = [...foreign]
    .filter(([, named]) => named.some(({ isWritten }) => isWritten))
    .map(([file]) => file);
  const allowed = Object.entries(READ_MODELS).flatMap(([file, { isWriter }]) =>
    isWriter ? [file] : [],
  );
  expect(writers.toSorted()).toEqual(allowed.toSorted());
  expect(allowed.length).toBeLessThanOrEqual(2);
});

test('a planted violation is found', () => {
  const planted = `
    await tx.query('UPDATE subscriptions SET status = $1');
    await tx.query(\`SELECT 1 FROM api_keys k, users u JOIN ledger_accounts a ON true\`);
    // FROM payments
    @Entity('routes')`;
  expect(foreignIn('usage', planted)).toEqual([
    { table: 'subscriptions', isWritten: true },
    { table: 'api_keys', isWritten: false },
    { table: 'users', isWritten: false },
    { table: 'ledger_accounts', isWritten: false },
    { table: 'routes', isWritten: false },
  ]);
  expect(foreignIn('subscriptions', "'DELETE FROM token_lots'")).toEqual([]);
});
