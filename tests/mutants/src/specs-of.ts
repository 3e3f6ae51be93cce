import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const IMPORT = /(?:from|import)\s*\(?\s*'([^']+)'/g;

/** Specs of the quick suite below some folders, by what they import, over other files too. */
export class SpecsByImport {
  private readonly root: string;
  private readonly imports = new Map<string, readonly string[]>();

  constructor(root: string) {
    this.root = root;
  }

  /** Absolute paths of the specs that import a file. */
  of(file: string, folders: readonly string[]): string[] {
    const target = path.join(this.root, file);
    return globSync(
      folders.map((folder) => `${folder}/**/*.spec.ts`),
      { cwd: this.root },
    )
      .filter((spec) => !/\.(?:long|part)\.spec\.ts$/.test(spec))
      .map((spec) => path.join(this.root, spec))
      .filter((spec) => this.reaches(spec, target, new Set()))
      .toSorted();
  }

  private reaches(from: string, target: string, seen: Set<string>): boolean {
    if (from === target) return true;
    if (seen.has(from)) return false;
    seen.add(from);
    return this.importsOf(from).some((next) => this.reaches(next, target, seen));
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

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
