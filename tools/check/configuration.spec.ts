import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { configurationReference } from './configuration-reference.ts';

test('docs/configuration.md names every variable the code reads, as the code reads it', () => {
  const written = readFileSync(
    path.join(import.meta.dirname, '../../docs/configuration.md'),
    'utf8',
  );
  expect(written).toBe(configurationReference());
});
