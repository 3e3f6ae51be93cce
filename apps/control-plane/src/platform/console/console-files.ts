import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Holds the files of a release of the console. They are read once: it is small, and it changes with the release only. */
export interface ConsoleFiles {
  /** Is index.html, with `<base href="/" />` still to be completed. */
  page: string;
  /** Maps paths below the console, without a leading slash, to files. */
  files: ReadonlyMap<string, ConsoleFile>;
}

export interface ConsoleFile {
  type: string;
  etag: string;
  /** Is true where the name changes with the content, so that the file may be kept for as long as a browser likes. */
  isImmutable: boolean;
  plain: Buffer;
  brotli: Buffer | undefined;
  gzip: Buffer | undefined;
}

const PAGE = 'index.html';
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
};
const HASHED_FOLDER = 'assets/';

/** Is the folder beside this app, in a checkout and in an image alike. */
export const BUILT_CONSOLE = path.resolve(import.meta.dirname, '../../../../console/dist/web');

/** Returns undefined where no console was built: the interface works without one. */
export function readConsole(folder: string): ConsoleFiles | undefined {
  const pageFile = path.join(folder, PAGE);
  if (!existsSync(pageFile)) return undefined;
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .map((name) => name.replaceAll(path.sep, '/'));
  const files = new Map<string, ConsoleFile>();
  for (const name of names) {
    const type = TYPES[path.extname(name)];
    if (type !== undefined) files.set(name, readOne(folder, { name, type }));
  }
  return { page: readFileSync(pageFile, 'utf8'), files };
}

function readOne(folder: string, { name, type }: { name: string; type: string }): ConsoleFile {
  const file = path.join(folder, name);
  const variant = (extension: string): Buffer | undefined =>
    existsSync(file + extension) ? readFileSync(file + extension) : undefined;
  const plain = readFileSync(file);
  return {
    type,
    etag: etagOf(plain),
    isImmutable: name.startsWith(HASHED_FOLDER),
    plain,
    brotli: variant('.br'),
    gzip: variant('.gz'),
  };
}

export function etagOf(content: Buffer | string): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
}
