import { expect, test } from '@jest/globals';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '../..');
/** Lists the files that a further value of an idea may change. Generated files and migrations are not counted. */
const SOURCES = globSync(
  ['apps/*/src/**/*.{ts,tsx}', 'libs/*/src/**/*.ts', 'libs/*/lua/**/*.lua'],
  {
    cwd: root,
  },
).filter(
  (file) =>
    !/\.spec\.ts$|-under-test\.ts$|\/(?:testing|migrations|__generated__|dist)\//.test(file) &&
    !file.startsWith('apps/demo-upstream/'),
);
const TEXTS = new Map(SOURCES.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));

/** Returns the files that name all of these: a further value of the same table would have to be named there too. */
function listsOf(neighbours: readonly RegExp[], texts = TEXTS): string[] {
  return [...texts]
    .filter(([, text]) => neighbours.every((name) => name.test(text)))
    .map(([file]) => file)
    .toSorted();
}

// Lists two values of each table that behave alike; `at most` is 6 where it says nothing else.
const IDEAS: readonly { idea: string; neighbours: readonly RegExp[]; atMost?: number }[] = [
  { idea: 'token class', neighbours: [/audio_?input/i, /audio_?output/i] },
  { idea: 'limit of keys', neighbours: [/\brph(_?ceiling)?\b/i, /\brpd(_?ceiling)?\b/i] },
  // Each protocol has its own reader, fields and probe in libs/protocols.
  {
    idea: 'client protocol',
    neighbours: [/'responses'|\bresponses:/, /'completions'|\bcompletions:/],
    atMost: 17,
  },
  { idea: 'endpoint', neighbours: [/'responses', 'completions'/] },
  {
    idea: 'provider',
    neighbours: [/UPSTREAM_PROTOCOLS = |PROVIDERS = |providers: \{/, /\bopenai\b/, /\banthropic\b/],
  },
  { idea: 'alert kind', neighbours: [/\blow_balance\b/, /\bpayout_unsettled\b/] },
  { idea: 'outcome', neighbours: [/\bnode_stopped\b/, /\bnode_lost\b/] },
  { idea: 'error code', neighbours: [/\bupstream_name_taken\b/, /\bnode_name_taken\b/] },
];

test.each(IDEAS)('a further $idea changes few files', ({ neighbours, atMost = 6 }) => {
  const lists = listsOf(neighbours);
  expect(lists.length).toBeGreaterThan(0);
  expect(lists.length > atMost ? lists : []).toEqual([]);
});

test('a list that is written a second time is found', () => {
  const planted = new Map([['page.tsx', "const kinds = ['low_balance', 'payout_unsettled'];"]]);
  expect(listsOf([/\blow_balance\b/, /\bpayout_unsettled\b/], planted)).toEqual(['page.tsx']);
});
