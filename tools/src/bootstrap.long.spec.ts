import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ROOT } from './checkout.ts';
import { until } from './testing/waiting.ts';

/** Is a checkout with nothing installed, of the files as they are here. */
let checkout: string;

beforeAll(() => {
  checkout = mkdtempSync(path.join(tmpdir(), 'tollgate-checkout-'));
  const files = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 16 * 1024 * 1024,
    },
  );
  for (const file of files
    .split('\0')
    .filter((name) => name && existsSync(path.join(ROOT, name)))) {
    mkdirSync(path.dirname(path.join(checkout, file)), { recursive: true });
    cpSync(path.join(ROOT, file), path.join(checkout, file));
  }
}, 60_000);
afterAll(() => rmSync(checkout, { recursive: true, force: true }), 60_000);

/** Returns the command lines of the processes whose working folder this is. */
const workingIn = (folder: string): string[] =>
  readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === folder
          ? [readFileSync(`/proc/${pid}/cmdline`, 'utf8')]
          : [];
      } catch {
        return [];
      }
    });
const has = (file: string): boolean => existsSync(path.join(checkout, file));
const stamp = (): string => path.join(checkout, 'node_modules', '.tollgate-install');
function bootstrap(...args: readonly string[]): string {
  return execFileSync('node', ['tools/bootstrap.mjs', ...args], {
    cwd: checkout,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

test('a command that runs the product installs what runs it; one that tests installs the rest, which then stays', () => {
  expect(bootstrap('size')).toContain('ok    Installing dependencies');
  expect(has('node_modules/jest')).toBe(false);
  // `npx tollgate` of the guides means the checkout's own.
  expect(has('node_modules/.bin/tollgate')).toBe(true);
  expect(bootstrap('size')).not.toContain('Installing');
  // The audit loads with what is there; without an installation it says so.
  expect(bootstrap('audit', '--help')).toMatch(/^npm run audit /);

  expect(bootstrap('check', 'dead code')).toContain('ok    Installing dependencies');
  expect(has('node_modules/jest')).toBe(true);
  expect(has('tests/console/node_modules/playwright-core')).toBe(true);
  expect(bootstrap('size')).not.toContain('Installing');

  // Another branch has another lockfile: what was there is installed again, not less.
  writeFileSync(stamp(), 'of-another-lockfile everything');
  expect(bootstrap('size')).toContain('ok    Installing dependencies');
  expect(has('node_modules/jest')).toBe(true);

  // It was installed by hand, or interrupted: nothing is taken away either.
  rmSync(stamp());
  expect(bootstrap('size')).toContain('ok    Installing dependencies');
  expect(has('node_modules/jest')).toBe(true);
}, 300_000);

test.each(['SIGINT', 'SIGTERM'] as const)(
  'an install that %s ends leaves no process behind, and the next command continues with it',
  async (signal) => {
    rmSync(path.join(checkout, 'node_modules'), { recursive: true, force: true });
    const child = spawn('node', ['tools/bootstrap.mjs', 'size'], {
      cwd: checkout,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr.on('data', (bytes) => (errors += bytes));
    await until('the install has begun', () => has('node_modules'));
    child.kill(signal);
    const [code] = await once(child, 'exit');

    expect(code).toBe(128 + constants.signals[signal]);
    expect(errors).toContain('Interrupted. The next command continues with the installation.');
    expect(workingIn(checkout)).toEqual([]);
    expect(existsSync(stamp())).toBe(false);
    expect(bootstrap('size')).toContain('ok    Installing dependencies');
    expect(bootstrap('size')).not.toContain('Installing');
  },
  300_000,
);

test('an install that fails leaves nothing behind that counts as installed', () => {
  const manifest = path.join(checkout, 'tests', 'fuzz', 'package.json');
  const before = readFileSync(manifest, 'utf8');
  writeFileSync(manifest, before.replace('"zod": "', '"zod": "1'));
  expect(() => bootstrap('size')).toThrow();
  expect(existsSync(stamp())).toBe(false);
  writeFileSync(manifest, before);
  expect(bootstrap('size')).toContain('ok    Installing dependencies');
  expect(bootstrap('size')).not.toContain('Installing');
}, 300_000);
