#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs';

// Names the server when the command names none in a checkout: the installation that `npm start` runs there.
const started = new URL('../../../.tollgate/start.json', import.meta.url);
if (existsSync(started)) {
  const { baseUrl, adminUrl } = JSON.parse(readFileSync(started, 'utf8'));
  process.env.TOLLGATE_URL_OF_CHECKOUT ??= baseUrl;
  process.env.TOLLGATE_ADMIN_URL_OF_CHECKOUT ??= adminUrl;
}

// This file is committed apart from what is built, so that an install can link it before the first build.
const program = new URL('../dist/main.js', import.meta.url);
if (existsSync(program)) await import(program.href);
else {
  process.stderr.write('tollgate is not built yet.\n  Fix: npm start, or npm run build\n');
  process.exitCode = 2;
}
