import { expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildConsole } from '../src/build.ts';
import { FIRST_VIEW_BYTES_MAX, firstViews } from './console-size.ts';

const built = path.join(import.meta.dirname, '../../apps/console/dist/web');

test('whatever page of the console is opened first, its script stays within its bound', async () => {
  await buildConsole();
  const views = firstViews(built);
  expect(views.size).toBeGreaterThan(20);
  expect([...views].filter(([, bytes]) => bytes > FIRST_VIEW_BYTES_MAX)).toEqual([]);
}, 60_000);

test('a page that has become too heavy is reported, whether by what it imports or by its chart', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'console-size-'));
  try {
    plant(folder, {
      'index.html': { bytes: 100_000 },
      'src/words/en.ts': { bytes: 5_000 },
      'src/words/zh.ts': { bytes: 10_000 },
      'src/ui/charts/chart-canvas.tsx': { bytes: 40_000 },
      'src/features/light/page.tsx': { bytes: 10_000, imports: ['index.html'] },
      'src/features/charts/page.tsx': {
        bytes: 110_000,
        dynamic: ['src/ui/charts/chart-canvas.tsx'],
      },
      _library: { bytes: 150_000 },
      'src/features/heavy/key-page.tsx': { bytes: 5_000, imports: ['_library'] },
    });
    const views = firstViews(folder);
    const heavy = [...views].filter(([, bytes]) => bytes > FIRST_VIEW_BYTES_MAX);
    expect(heavy.map(([page]) => page)).toEqual([
      'src/features/charts/page.tsx',
      'src/features/heavy/key-page.tsx',
    ]);
    expect(Math.round((views.get('src/features/light/page.tsx') ?? 0) / 1_000)).toBe(120);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

interface Chunk {
  bytes: number;
  imports?: string[];
  dynamic?: string[];
}

/** Plants a build whose files cannot be compressed. */
function plant(folder: string, chunks: Record<string, Chunk>): void {
  mkdirSync(path.join(folder, '.vite'));
  const manifest = Object.entries(chunks).map(([name, { bytes, imports, dynamic }], index) => {
    const file = `${index}.js`;
    writeFileSync(path.join(folder, file), randomBytes(bytes));
    return [name, { file, imports, dynamicImports: dynamic }] as const;
  });
  writeFileSync(
    path.join(folder, '.vite/manifest.json'),
    JSON.stringify(Object.fromEntries(manifest)),
  );
}
