import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';

/** What docs/api-guide.md tells its readers to write is what the clients here were run with: regions `guide: <name>` ... `guide: end` of their drivers. */
const folder = import.meta.dirname;
const guide = readFileSync(path.join(folder, '../../../docs/api-guide.md'), 'utf8');
const sources = [
  'client.ts',
  ...readdirSync(path.join(folder, 'drivers')).map((file) => path.join('drivers', file)),
].map((file) => readFileSync(path.join(folder, file), 'utf8'));

const REGION =
  /^[ ]*(?:\/\/|#) guide: (?<name>(?!end$)[\w-]+)\n(?<text>[^]*?)^[ ]*(?:\/\/|#) guide: end$/gm;
const BLOCK = /^```\w+ from=(?<name>[\w-]+)\n(?<text>[^]*?)^```$/gm;

function named(text: string, pattern: RegExp): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(pattern)].map(({ groups }) => [
      groups?.['name'] ?? '',
      plain(groups?.['text'] ?? ''),
    ]),
  );
}

/** Without the indentation of its place, and without the comma of an argument. */
function plain(text: string): string {
  const lines = text.trimEnd().replace(/,$/, '').split('\n');
  const indent = Math.min(...lines.filter((line) => line !== '').map((line) => line.search(/\S/)));
  return lines.map((line) => line.slice(indent)).join('\n');
}

test('every snippet of the guide is what the tests run, and nothing they run is missing from it', () => {
  const regions = Object.assign({}, ...sources.map((source) => named(source, REGION))) as Record<
    string,
    string
  >;
  expect(Object.keys(regions).length).toBeGreaterThan(10);
  expect(named(guide, BLOCK)).toEqual(regions);
});

test('the guide leads nowhere that is not there', () => {
  const targets = [...guide.matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map(
    (match) => match[1] ?? '',
  );
  expect(targets.length).toBeGreaterThan(1);
  for (const target of targets)
    expect(readFileSync(path.join(folder, '../../../docs', target), 'utf8')).not.toBe('');
});
