import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { ROOT } from '../src/checkout.ts';

/** Is loaded before the program: it prints each flag of V8 that the program sets. */
const PRINT_FLAGS = `
  import v8 from 'node:v8';
  import { syncBuiltinESMExports } from 'node:module';
  const set = v8.setFlagsFromString;
  v8.setFlagsFromString = (flag) => { process.stdout.write(flag + '\\n'); set(flag); };
  syncBuiltinESMExports();`;

test.each(['proxy-node', 'front-door'])('%s serves with the flags of V8 for servers', (app) => {
  const main = path.join(ROOT, 'apps', app, 'src', 'main.ts');
  const preload = `data:text/javascript,${encodeURIComponent(PRINT_FLAGS)}`;
  // Without its settings it ends once the flags are set.
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--no-warnings', '--import', preload, main],
    { encoding: 'utf8', env: {}, timeout: 20_000 },
  );
  expect(stderr).toContain('Invalid input');
  expect(stdout.trim().split('\n')).toEqual([
    '--no-allocation-site-pretenuring',
    expect.stringMatching(/^--invocation-count-for-turbofan=\d+$/),
  ]);
});
