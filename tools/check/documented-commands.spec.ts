import { expect, test } from '@jest/globals';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readOperations } from '../../apps/cli/src/operations.ts';

/** Commands that the documents tell a reader to type exist, by name: a command that was renamed is found in every document. */
const root = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const documents = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/*.md', { cwd: root })];
const { scripts }: { scripts: Record<string, string> } = JSON.parse(read('package.json'));
const specs = globSync('{apps,libs,tests,tools}/**/*.{spec,heavy}.ts', {
  cwd: root,
  exclude: (name) => /node_modules|dist/.test(name),
});

function typed(pattern: RegExp): { where: string; words: string[] }[] {
  return documents.flatMap((where) =>
    [...read(where).matchAll(pattern)].map(([, ...words]) => ({ where, words })),
  );
}

test('every `npm run` names a script', () => {
  const named = typed(/npm run (?:-s |--silent )?([a-z][\w:]*)/g);
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter(({ words: [script = ''] }) => !(script in scripts))).toEqual([]);
});

test('every pattern of a long or quick run names a suite', () => {
  const named = typed(/(?:npm test|npm run test:long) -- ([\w./-]*[\w])/g);
  expect(named.length).toBeGreaterThan(10);
  expect(
    named.filter(({ words: [pattern = ''] }) => !specs.some((file) => file.includes(pattern))),
  ).toEqual([]);
});

test('every `tollgate-ops` names a command of it', () => {
  const program =
    read('apps/control-plane/src/ops/run-command.ts') +
    read('apps/control-plane/src/ops/repairs.ts');
  const named = typed(/tollgate-ops ([a-z][a-z-]+)/g).filter(
    ({ words: [verb] }) => verb !== 'says',
  );
  expect(named.length).toBeGreaterThan(25);
  expect(
    named.filter(({ words: [verb = ''] }) => !new RegExp(`^ {2}'?${verb}'?: `, 'm').test(program)),
  ).toEqual([]);
});

test('every `tollgate` of an administrator names a feature and its verb', () => {
  const known = new Set(readOperations().map(({ group, verb }) => `${group} ${verb}`));
  const groups = new Set(readOperations().map(({ group }) => group));
  const named = typed(/(?:^|`|-- )tollgate ([a-z][a-z-]+) ([a-z][a-z-]+)/gm).filter(
    ({ words: [group = ''] }) => groups.has(group),
  );
  expect(named.length).toBeGreaterThan(4);
  expect(named.filter(({ words }) => !known.has(words.join(' ')))).toEqual([]);
});
