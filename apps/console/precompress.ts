import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

/** Below this the headers cost more than compression saves. */
const BYTES_MIN = 1024;
const COMPRESSIBLE = /\.(js|css|svg|json|webmanifest)$/;

/** Writes `<file>.br` and `<file>.gz` beside what was built, so that serving costs no compression. index.html is left out: it is completed when it is served. */
export function precompress(): Plugin {
  let folder = '';
  return {
    name: 'precompress',
    apply: 'build',
    configResolved: (config) => void (folder = path.resolve(config.root, config.build.outDir)),
    closeBundle: () => {
      for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
        if (COMPRESSIBLE.test(file)) compress(path.join(folder, file));
    },
  };
}

function compress(file: string): void {
  if (statSync(file).size < BYTES_MIN) return;
  const bytes = readFileSync(file);
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  writeFileSync(
    `${file}.br`,
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
  );
}
