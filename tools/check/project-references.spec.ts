import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { APP_PROJECTS } from '../src/build.ts';
import { read, root, tracked } from './tracked-files.ts';

/**
 * `tsc -b` builds what a project references and nothing else, so a library that is imported without a reference is there only when
 * another command happened to build it. A fresh clone shows such a fault; a checkout that was used hides it.
 */
interface Project {
  /** Is the folder of its tsconfig.json, from the root. */
  folder: string;
  /** Lists the sources that it compiles, from the root. */
  files: string[];
  /** Lists the folders of the projects that it references. */
  references: string[];
}

/** A program or another package enters a project by one of these files. */
const ENTRY = /\/src\/((main|index|admin|ops|write-openapi|token-counter)\.tsx?|cli\.ts)$/;
const SPECIFIER = /(?:from|import)\s*\(?\s*'([^']+)'/g;
const PLANTED = 'tools/check/planted-references/app';

const projects = tracked
  .filter((file) => /^((apps|libs)\/[^/]+|tools)\/tsconfig\.json$/.test(file))
  .map((file) => readProject(path.dirname(file)));

function readProject(folder: string): Project {
  const shown = execFileSync('node_modules/.bin/tsc', ['-p', folder, '--showConfig'], {
    cwd: root,
    encoding: 'utf8',
  });
  const { files, references = [] } = JSON.parse(shown) as {
    files: string[];
    references?: { path: string }[];
  };
  return {
    folder,
    files: files.map((file) => path.join(folder, file)),
    references: references.map((reference) => path.join(folder, reference.path)).sort(),
  };
}

const importsOf = (file: string): string[] =>
  [...read(file).matchAll(SPECIFIER)].map(([, specifier = '']) => specifier);

/** Returns the folders of the projects whose packages these files import. */
function importedBy({ folder, files }: Project): string[] {
  const packages = new Set(
    files.flatMap(importsOf).map((specifier) => /^@tollgate\/([^/]+)/.exec(specifier)?.[1]),
  );
  return projects
    .map((project) => project.folder)
    .filter((other) => other !== folder && packages.has(path.basename(other)))
    .sort();
}

/** Returns the sources that no entry of the project reaches by imports or by the path of a worker's file. */
function unreachedIn({ files }: Project): string[] {
  const reached = new Set(files.filter((file) => ENTRY.test(file)));
  for (const file of reached)
    for (const [, target = ''] of read(file).matchAll(/'(\.{1,2}\/[^']+\.(?:tsx?|m?js))'/g)) {
      const source = path.join(path.dirname(file), target).replace(/\.js$/, '.ts');
      if (existsSync(path.join(root, source))) reached.add(source);
    }
  return files.filter((file) => !reached.has(file));
}

test('every project references the projects that its files import, and no others', () => {
  expect(projects.length).toBeGreaterThan(14);
  expect(
    Object.fromEntries(projects.map(({ folder, references }) => [folder, references])),
  ).toEqual(Object.fromEntries(projects.map((project) => [project.folder, importedBy(project)])));
});

test('a build of everything reaches every project; the console, whose types need a browser, is built by itself', () => {
  const { references } = JSON.parse(read('tsconfig.json')) as { references: { path: string }[] };
  const named = [...references.map((reference) => reference.path), 'apps/console'];
  expect(named.sort()).toEqual(projects.map(({ folder }) => folder).sort());
});

test('a start compiles only what the product runs: no project holds a file that only tests need', () => {
  const started = projects.filter(
    ({ folder }) => folder.startsWith('libs/') || APP_PROJECTS.some((app) => app === folder),
  );
  expect(started.flatMap(unreachedIn)).toEqual([]);
});

test('the planted project is found: an import without a reference, a reference without an import, a file without use', () => {
  const planted = readProject(PLANTED);
  expect(planted.references).toEqual(['tools/check/planted-references/unused']);
  expect(importedBy(planted)).toEqual(['libs/money']);
  expect(unreachedIn(planted)).toEqual([`${PLANTED}/src/only-tests-need-this.ts`]);
});
