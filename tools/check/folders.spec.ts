import { describe, expect, test } from '@jest/globals';
import path from 'node:path';
import {
  circularFolders,
  filesIn,
  importsBetween,
  importsByParent,
  layersOf,
  ORDERED_SOURCES,
  SOURCE_ROOTS,
  upwardImports,
} from './folder-graph.ts';
import { read, tracked } from './tracked-files.ts';

const LINES_MAX = 20;
/** Lists the parts of a README: what the folder owns, what is elsewhere, what always holds. */
const PARTS = ['**Owns**', '**Does not own**', '**Invariants**'];

const readmeOf = (root: string, folder: string): string | undefined => {
  const file = `${root}/${folder}/README.md`;
  return tracked.includes(file) ? read(file) : undefined;
};

function readmeFaults(folder: string, text: string | undefined): string[] {
  if (text === undefined) return [`${folder} has no README`];
  const lines = text.trimEnd().split('\n').length;
  return [
    ...(lines > LINES_MAX ? [`README of ${folder} has ${lines} lines`] : []),
    ...(text.startsWith(`# ${folder}: `) ? [] : [`README of ${folder} has another title`]),
    ...PARTS.filter((part) => !text.includes(part)).map(
      (part) => `README of ${folder} lacks ${part}`,
    ),
  ];
}

test('a missing, a long and an incomplete README are found', () => {
  const text = `# a: b\n\n${PARTS.join('\n')}\n`;
  expect(readmeFaults('a', text)).toEqual([]);
  expect(readmeFaults('a', undefined)).toEqual(['a has no README']);
  expect(readmeFaults('a', `${text}${'- c\n'.repeat(16)}`)).toEqual(['README of a has 21 lines']);
  expect(readmeFaults('a', '# b: c\n\n**Owns** d\n')).toEqual([
    'README of a has another title',
    'README of a lacks **Does not own**',
    'README of a lacks **Invariants**',
  ]);
});

/** The platform's order needs no picture, and its folders are described by the README that has their order. */
const PLATFORM = 'apps/control-plane/src/platform';

const orderOf = (root: string): string[] =>
  layersOf(read(`${root}/README.md`)).flatMap(({ folders }) => folders);

test.each(ORDERED_SOURCES)('every folder of %s has a README of at most 20 lines', (root) => {
  const faults = orderOf(root).flatMap((folder) => readmeFaults(folder, readmeOf(root, folder)));
  expect(faults).toEqual([]);
});

describe.each([...ORDERED_SOURCES, PLATFORM])('%s', (root) => {
  const order = orderOf(root);
  const files = filesIn(root);
  const imports = importsBetween(files);

  test('every folder has one place in the order of its README', () => {
    const folders = new Set(files.flatMap(([file]) => (/^([^/]+)\//.exec(file) ?? []).slice(1)));
    expect(order.toSorted()).toEqual([...folders].toSorted());
  });

  test('a folder imports only those before it', () => {
    expect(upwardImports(imports, order)).toEqual([]);
    expect(imports.length).toBeGreaterThan(40);
  });

  test('a planted import that turns another round is found, and the cycle that it closes', () => {
    const { importer, imported } = imports[0] ?? { importer: '', imported: '' };
    const file = `${imported}/deep/planted.ts`;
    const all = [
      ...imports,
      ...importsBetween([[file, `import { a } from '../../${importer}/a.ts';`]]),
    ];
    expect(upwardImports(all, order)).toEqual([`${file} -> ${importer}/a.ts`]);
    expect(circularFolders(all)).toEqual(expect.arrayContaining([importer, imported]));
  });
});

test('planted imports are found in each form, also when they are of types or dynamic', () => {
  const planted = [
    ['low/a.ts', "import type { B } from '../high/b.ts';"],
    ['low/c.ts', "const { d } = await import('../high/d.ts');"],
    ['low/deep/e.ts', "import { a } from '../a.ts';\nimport '../../unlisted/f.ts';"],
    ['low/g.ts', "import { config } from '../config.ts';\nimport { h } from '../../other/h.ts';"],
    ['high/b.ts', "export { i } from '../middle/i.ts';"],
    ['middle/i.ts', "import { a } from '../low/a.ts';"],
  ] as const;
  const imports = importsBetween(planted);
  expect(upwardImports(imports, ['low', 'middle', 'high'])).toEqual([
    'low/a.ts -> high/b.ts',
    'low/c.ts -> high/d.ts',
    'low/deep/e.ts -> unlisted/f.ts',
  ]);
  expect(circularFolders(imports).toSorted()).toEqual(['high', 'low', 'middle']);
});

/** Returns the folders below `root` whose subfolders import each other in circles, with those subfolders. */
const circlesIn = (root: string, files = filesIn(root)): [folder: string, of: string[]][] =>
  [...importsByParent(files)].flatMap(([parent, imports]) => {
    const circle = circularFolders(imports).toSorted();
    return circle.length === 0 ? [] : [[path.join(root, parent), circle]];
  });

describe('subfolders of one folder, at any depth', () => {
  test('do not import each other in circles', () => {
    expect(SOURCE_ROOTS.flatMap((root) => circlesIn(root))).toEqual([]);
  });

  test('a planted import that closes a circle is found at each depth', () => {
    const root = 'apps/control-plane/src';
    const files = filesIn(root);
    const parents = [...importsByParent(files)];
    for (const [parent, [{ importer, imported } = { importer: '', imported: '' }]] of parents) {
      const planted = path.join(parent, imported, 'deep/planted.ts');
      const all = [...files, [planted, `import { a } from '../../${importer}/a.ts';`] as const];
      const circle = [importer, imported].toSorted();
      expect(circlesIn(root, all)).toEqual([
        [path.join(root, parent), expect.arrayContaining(circle)],
      ]);
    }
    expect(parents.map(([parent]) => parent)).toEqual(
      expect.arrayContaining(['', 'features', 'platform', 'features/usage']),
    );
  });
});

test('an order is read from the table alone', () => {
  const readme =
    'Of `a`.\n| Layer | Features |\n| --- | --- |\n| low | `x`, `y` |\n| high | `z` |\n';
  expect(layersOf(readme)).toEqual([
    { name: 'low', folders: ['x', 'y'] },
    { name: 'high', folders: ['z'] },
  ]);
});
