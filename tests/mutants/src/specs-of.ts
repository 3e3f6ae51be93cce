import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const IMPORT = /(?:from|import)\s*\(?\s*'([^']+)'/g;

/** It starts the services. */
const HARNESS = 'tests/harness/src/index.ts';

/** Finds specs of the quick suite below some folders, by what they import, over other files too. */
export class SpecsByImport {
  private readonly root: string;
  private readonly imports = new Map<string, readonly string[]>();

  constructor(root: string) {
    this.root = root;
  }

  /** Returns the absolute paths of the specs that import a file: those of its name first, then those that start no service, then those nearest to it. */
  of(file: string, folders: readonly string[]): string[] {
    const target = path.join(this.root, file);
    const found = globSync(
      folders.map((folder) => `${folder}/**/*.spec.ts`),
      { cwd: this.root },
    )
      .filter((spec) => !/\.(?:long|part)\.spec\.ts$/.test(spec))
      .toSorted()
      .map((spec) => path.join(this.root, spec))
      .map((spec) => ({
        spec,
        distance: this.distance(spec, target),
        isOwn: stemOf(spec) === stemOf(file),
        isPure: this.distance(spec, path.join(this.root, HARNESS)) === Infinity,
      }));
    return found
      .filter(({ distance }) => distance < Infinity)
      .toSorted(
        (a, b) =>
          Number(b.isOwn) - Number(a.isOwn) ||
          Number(b.isPure) - Number(a.isPure) ||
          a.distance - b.distance,
      )
      .map(({ spec }) => spec);
  }

  /** Returns the number of imports from one file to another. */
  private distance(from: string, to: string): number {
    const seen = new Set([from]);
    let ring = [from];
    for (let distance = 0; ring.length > 0; distance += 1) {
      if (ring.includes(to)) return distance;
      ring = [...new Set(ring.flatMap((file) => this.importsOf(file)))].filter(
        (file) => !seen.has(file),
      );
      for (const file of ring) seen.add(file);
    }
    return Infinity;
  }

  private importsOf(file: string): readonly string[] {
    const known = this.imports.get(file);
    if (known) return known;
    const found = [...read(file).matchAll(IMPORT)].flatMap(([, name = '']) =>
      this.resolved(file, name),
    );
    this.imports.set(file, found);
    return found;
  }

  private resolved(from: string, name: string): string[] {
    if (name.startsWith('.')) return [path.join(path.dirname(from), name)];
    const library = /^@tollgate\/([\w-]+)$/.exec(name)?.[1];
    if (library === undefined) return [];
    const folder = library === 'harness' ? `tests/${library}` : `libs/${library}`;
    return [path.join(this.root, folder, 'src/index.ts')];
  }
}

/** Returns `usage-ingest` for usage-ingest.service.ts and for its spec. */
function stemOf(file: string): string {
  return path.basename(file).split('.')[0] ?? '';
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
