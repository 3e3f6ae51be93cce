import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';

/** docs/console.md promises at most 250 kB for the page that is opened first. */
export const FIRST_VIEW_BYTES_MAX = 250_000;

/** Every page loads the entry; a page with a chart loads the chart afterwards. */
const ENTRY = 'index.html';
const WORDS = ['src/words/en.ts', 'src/words/zh.ts'];
const CHART = 'src/ui/charts/chart-canvas.tsx';

const manifestSchema = z.record(
  z.string(),
  z.object({
    file: z.string(),
    imports: z.array(z.string()).default([]),
    dynamicImports: z.array(z.string()).default([]),
  }),
);
type Manifest = z.infer<typeof manifestSchema>;

/** Returns the gzipped script of each page of a build in bytes, when it is the first one opened. */
export function firstViews(folder: string): Map<string, number> {
  const manifest = manifestSchema.parse(
    JSON.parse(readFileSync(path.join(folder, '.vite/manifest.json'), 'utf8')),
  );
  const sizeOf = sizes(folder);
  const pages = Object.keys(manifest).filter((name) => /^src\/features\/.*page\.tsx$/.test(name));
  const words = Math.max(...WORDS.map((name) => total(closure(manifest, [name]), sizeOf)));
  return new Map(
    pages.map((page) => [
      page,
      words + total(closure(manifest, [ENTRY, page, ...chartOf(manifest, page)]), sizeOf),
    ]),
  );
}

function chartOf(manifest: Manifest, page: string): string[] {
  const names = reach(manifest, [page]);
  return [...names].some((name) => manifest[name]?.dynamicImports.includes(CHART)) ? [CHART] : [];
}

/** Returns the files that load with these chunks. */
function closure(manifest: Manifest, names: readonly string[]): Set<string> {
  return new Set([...reach(manifest, names)].map((name) => manifest[name]?.file ?? name));
}

function reach(manifest: Manifest, names: readonly string[]): Set<string> {
  const found = new Set<string>();
  const visit = (name: string): void => {
    if (found.has(name)) return;
    found.add(name);
    manifest[name]?.imports.forEach(visit);
  };
  names.forEach(visit);
  return found;
}

function total(files: ReadonlySet<string>, sizeOf: (file: string) => number): number {
  return [...files].reduce((sum, file) => sum + sizeOf(file), 0);
}

function sizes(folder: string): (file: string) => number {
  const known = new Map<string, number>();
  return (file) => {
    const size =
      known.get(file) ?? gzipSync(readFileSync(path.join(folder, file)), { level: 9 }).length;
    known.set(file, size);
    return size;
  };
}
