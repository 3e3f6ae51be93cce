import path from 'node:path';
import { isProduct, read, sources } from './tracked-files.ts';

/** Lists the sources whose README has the order of their folders, in one table: each folder may import those before it. */
export const ORDERED_SOURCES = [
  'apps/control-plane/src/features',
  'apps/proxy-node/src',
  'libs/protocols/src',
];

export interface Layer {
  readonly name: string;
  readonly folders: readonly string[];
}

export interface FolderImport {
  readonly importer: string;
  readonly imported: string;
  readonly files: string;
}

type SourceFile = readonly [file: string, text: string];

/** Returns the layers of a table `| Layer | Folders |`, the lowest first. */
export function layersOf(readme: string): Layer[] {
  return [...readme.matchAll(/^\| ([^|`]+) \| (`[^|]+`) \|$/gm)].map(
    ([, name = '', cell = '']) => ({
      name,
      folders: [...cell.matchAll(/`([^`]+)`/g)].map(([, folder = '']) => folder),
    }),
  );
}

/** Returns the product's files below `root`, with paths from there. */
export function filesIn(root: string): SourceFile[] {
  return sources
    .filter((file) => file.startsWith(`${root}/`) && /\.tsx?$/.test(file) && isProduct(file))
    .map((file) => [file.slice(root.length + 1), read(file)]);
}

/** Lists the folder `src` of each app and library, and that of the tools. */
export const SOURCE_ROOTS: readonly string[] = [
  ...new Set(
    sources.flatMap((file) => /^(?:(?:apps|libs)\/[^/]+|tools)\/src(?=\/)/.exec(file) ?? []),
  ),
];

/** Returns the imports between sibling folders at any depth, grouped by the folder that contains both; '' is the root of the paths. */
export function importsByParent(
  files: readonly SourceFile[],
): ReadonlyMap<string, readonly FolderImport[]> {
  const found = files.flatMap(([file, text]) =>
    [...text.matchAll(/\b(?:from|import\(|import) ?'(\.[^']+)'/g)].flatMap(([, name = '']) =>
      betweenSiblings(file, path.join(path.dirname(file), name)),
    ),
  );
  return Map.groupBy(found, ({ parent }) => parent);
}

/** Returns nothing where the files share a folder, or where one is directly in the folder that contains both. */
function betweenSiblings(file: string, target: string): (FolderImport & { parent: string })[] {
  const [from, to] = [file.split('/'), target.split('/')];
  const depth = from.findIndex((name, at) => name !== to[at]);
  const [importer, imported] = [from[depth], to[depth]];
  const areFolders = depth < Math.min(from.length, to.length) - 1 && imported !== '..';
  if (importer === undefined || imported === undefined || !areFolders) return [];
  const parent = from.slice(0, depth).join('/');
  return [{ parent, importer, imported, files: `${file} -> ${target}` }];
}

/** Returns the imports between the folders of `files`, whose paths begin with the folder. */
export const importsBetween = (files: readonly SourceFile[]): readonly FolderImport[] =>
  importsByParent(files).get('') ?? [];

/** Returns the imports of a folder that the order does not place below the importer. */
export function upwardImports(
  imports: readonly FolderImport[],
  order: readonly string[],
): string[] {
  return imports
    .filter(({ importer, imported }) => {
      const below = order.slice(0, Math.max(0, order.indexOf(importer)));
      return !below.includes(imported);
    })
    .map(({ files }) => files);
}

/** Returns for each folder all that it imports, directly or through others. */
function reachOf(imports: readonly FolderImport[]): ReadonlyMap<string, ReadonlySet<string>> {
  const direct = Map.groupBy(imports, ({ importer }) => importer);
  const reach = (from: string, seen = new Set<string>()): Set<string> => {
    for (const { imported } of direct.get(from) ?? [])
      if (!seen.has(imported)) reach(imported, seen.add(imported));
    return seen;
  };
  return new Map([...direct.keys()].map((folder) => [folder, reach(folder)]));
}

/** Returns the folders that import themselves through others. */
export function circularFolders(imports: readonly FolderImport[]): string[] {
  return [...reachOf(imports)].flatMap(([folder, reach]) => (reach.has(folder) ? [folder] : []));
}

/** Returns a flowchart of the folders by layers. An import that others imply is left out, so that the picture fits a page. */
export function folderChart(layers: readonly Layer[], imports: readonly FolderImport[]): string {
  const reach = reachOf(imports);
  const direct = Map.groupBy(imports, ({ importer }) => importer);
  const importedBy = (folder: string): string[] => [
    ...new Set((direct.get(folder) ?? []).map(({ imported }) => imported)),
  ];
  const shown = (folder: string): string[] => {
    const all = importedBy(folder);
    return all.filter((one) => !all.some((other) => reach.get(other)?.has(one))).toSorted();
  };
  const folders = layers.flatMap((layer) => layer.folders);
  return [
    '```mermaid',
    'flowchart BT',
    ...layers.flatMap(({ name, folders: inLayer }, at) => [
      `  subgraph layer${at} [${name}]`,
      `    ${inLayer.join(' & ')}`,
      '  end',
    ]),
    ...folders.flatMap((folder) => {
      const below = shown(folder);
      return below.length === 0 ? [] : [`  ${folder} --> ${below.join(' & ')}`];
    }),
    '```',
  ].join('\n');
}
