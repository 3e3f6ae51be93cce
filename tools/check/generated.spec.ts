import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { apiReference } from './api-reference.ts';
import { errorReference } from './error-reference.ts';

/** `npm run generate` mends each of these. That openapi.json is what the code says is checked where the code runs (openapi.spec.ts). */
const root = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

test('docs/api-reference.md tells every route of the API document', () => {
  expect(read('docs/api-reference.md')).toBe(apiReference());
});

test('docs/errors.md tells every code of both interfaces', () => {
  expect(read('docs/errors.md')).toBe(errorReference());
});

test('the typed client is the one the API document gives', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tollgate-client-'));
  try {
    const file = path.join(folder, 'admin-api.ts');
    execFileSync(process.execPath, ['node_modules/openapi-typescript/bin/cli.js', 'openapi.json', '-o', file], { cwd: path.join(root, 'libs/admin-client'), stdio: 'pipe' });
    expect(read('libs/admin-client/src/__generated__/admin-api.ts')).toBe(readFileSync(file, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
