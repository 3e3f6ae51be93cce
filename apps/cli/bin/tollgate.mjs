#!/usr/bin/env node
import { existsSync } from 'node:fs';

// Committed apart from what is built, so that an install can link it before the first build.
const program = new URL('../dist/main.js', import.meta.url);
if (existsSync(program)) await import(program.href);
else {
  process.stderr.write('tollgate is not built yet.\n  Fix: npm run build\n');
  process.exitCode = 2;
}
