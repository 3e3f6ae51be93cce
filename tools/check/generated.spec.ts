import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { apiReference } from './api-reference.ts';
import { errorReference } from './error-reference.ts';
import { withFolderCharts } from './folder-chart.ts';

/** `npm run generate` repairs each of these. That openapi.json matches the code is checked where the code runs (openapi.spec.ts). */
const root = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

test('docs/api-reference.md lists every route of the API document', () => {
  expect(read('docs/api-reference.md')).toBe(apiReference());
});

test('docs/errors.md lists every code of both interfaces', () => {
  expect(read('docs/errors.md')).toBe(errorReference());
});

test('docs/architecture.md draws the folders as they import each other', () => {
  const page = read('docs/architecture.md');
  expect(page).toBe(withFolderCharts(page));
  expect(page).toMatch(/\n {2}keys --> .*\busage\b/);
});

test('docs/errors.md has every code that the sources of nodes and protocols put on the wire', () => {
  const reference = read('docs/errors.md');
  const folders = ['apps/proxy-node/src', 'libs/protocols/src'];
  const files = folders
    .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }))
    .filter((file) => !file.endsWith('.spec.ts'));
  const codes = files.flatMap((file) => {
    const source = read(file);
    return [
      ...source.matchAll(/vendorCode: '(\w+)'/g),
      ...source.matchAll(/new InvalidRequest\(.*\bcode: '(\w+)'/g),
      ...source.matchAll(/: entry\(\[\d+, [\w']+, '(\w+)'\]/g),
    ].map(([, code]) => code);
  });
  expect(codes).toEqual(
    expect.arrayContaining([
      'invalid_json',
      'missing_required_parameter',
      'concurrency_exceeded',
      'account_frozen',
      'overloaded',
    ]),
  );
  expect([...new Set(codes)].filter((code) => !reference.includes(`\n| \`${code}\` | `))).toEqual(
    [],
  );
});

test('docs/errors.md lists a code of the proxy interface once for each pair of its statuses', () => {
  const [, proxy = ''] = read('docs/errors.md').split('## Proxy interface');
  const named = [...proxy.matchAll(/^\| `(\w+)` \| (\d+) [^|]*\| (\d+) /gm)].map(
    ([, code, chat, messages]) => `${chat} ${messages} ${code}`,
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.toSorted()).toEqual([...new Set(named)].toSorted());
});

test('the typed client is the one the API document gives', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tollgate-client-'));
  try {
    const file = path.join(folder, 'admin-api.ts');
    execFileSync(
      process.execPath,
      ['node_modules/openapi-typescript/bin/cli.js', 'openapi.json', '-o', file],
      { cwd: path.join(root, 'libs/admin-client'), stdio: 'pipe' },
    );
    expect(read('libs/admin-client/src/__generated__/admin-api.ts')).toBe(
      readFileSync(file, 'utf8'),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
