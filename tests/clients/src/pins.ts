import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { PYTHON_REQUIREMENTS } from './python-environments.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const CODING_CLIENTS = path.join(ROOT, 'tests/clients/coding-clients.json');
const WORKSPACE = path.join(ROOT, 'pnpm-workspace.yaml');
/** The suite validates with it; it is no client. */
const NO_CLIENTS = new Set(['zod']);

const versions = z.record(z.string(), z.string());
const manifest = z.object({ devDependencies: versions });
const report = z.object({
  install: z.array(z.object({ metadata: z.object({ name: z.string(), version: z.string() }) })),
});

/** The coding agents are hundreds of megabytes, so that the lockfile does not have them. */
export function codingClients(): Readonly<Record<string, string>> {
  return versions.parse(JSON.parse(readFileSync(CODING_CLIENTS, 'utf8')));
}

/**
 * Pins every client to the newest version of its registry: the npm clients in each package.json that has them and in the lockfile, the coding agents and the
 * Python clients in their lists. Prints what changed. `python` has pip.
 */
export function pinNewest(python: string | null): void {
  const libraries = manifest.parse(read('tests/clients/package.json')).devDependencies;
  const npm = Object.entries(libraries)
    .filter(([name, version]) => !version.startsWith('workspace:') && !NO_CLIENTS.has(name))
    .map(([name]) => name);
  const newest = new Map(npm.map((name) => [name, newestOfNpm(name)]));
  for (const file of manifests()) rewrite(file, (text) => repinned(text, newest));
  const agents = Object.keys(codingClients()).map((name) => [name, newestOfNpm(name)] as const);
  rewrite(CODING_CLIENTS, (text) => repinned(text, new Map(agents)));
  if (python !== null) pinPython(python);
  output('npm', ['run', 'lockfile', '--', '--no-frozen-lockfile']);
  const lockfile = readFileSync(path.join(ROOT, 'pnpm-lock.yaml'), 'utf8');
  rewrite(WORKSPACE, (text) => withoutOldExceptions(text, lockfile));
}

/** pnpm adds each version that is younger than its minimum age, and keeps those that are pinned no longer. */
function withoutOldExceptions(workspace: string, lockfile: string): string {
  return workspace
    .replaceAll(/^ +- '(.+@\d.*)'\n/gm, (line, pin: string) =>
      lockfile.includes(`'${pin}':`) ? line : '',
    )
    .replace(/\nminimumReleaseAgeExclude:\n(?! )/, '');
}

function pinPython(python: string): void {
  for (const file of readdirSync(PYTHON_REQUIREMENTS)) {
    rewrite(path.join(PYTHON_REQUIREMENTS, file), (text) => {
      const wanted = [...text.matchAll(/^[\w-]+(?:\[\w+\])?(?===)/gm)].map(([name]) => name);
      const found = output(python, [...RESOLVE, ...wanted]);
      const newest = new Map(
        report
          .parse(JSON.parse(found))
          .install.map(({ metadata: { name, version } }) => [name, version]),
      );
      return text.replaceAll(
        /^([\w-]+)((?:\[\w+\])?==)(.+)$/gm,
        (_line, name: string, between: string, version: string) =>
          `${name}${between}${changed(name, version, newest.get(name) ?? version)}`,
      );
    });
  }
}

/** Without dependencies each client is the newest, and an environment that cannot have them all fails when it is made. */
const RESOLVE = [
  ...['-m', 'pip', 'install', '--dry-run', '--no-deps', '--ignore-installed', '--quiet'],
  ...['--disable-pip-version-check', '--report', '-'],
];

function repinned(text: string, newest: ReadonlyMap<string, string>): string {
  return text.replaceAll(/"([^"\s]+)": "(\d[^"]*)"/g, (pin, name: string, version: string) => {
    const wanted = newest.get(name);
    return wanted === undefined ? pin : `"${name}": "${changed(name, version, wanted)}"`;
  });
}

function changed(name: string, version: string, newest: string): string {
  if (version !== newest) console.log(`${name} ${version} -> ${newest}`);
  return newest;
}

function newestOfNpm(name: string): string {
  return output('npm', ['view', name, 'version']).trim();
}

function manifests(): string[] {
  return output('git', ['ls-files', '*package.json'])
    .split('\n')
    .filter((file) => file !== '')
    .map((file) => path.join(ROOT, file));
}

function rewrite(file: string, change: (text: string) => string): void {
  const text = readFileSync(file, 'utf8');
  const next = change(text);
  if (next !== text) writeFileSync(file, next);
}

function read(file: string): unknown {
  return JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'));
}

function output(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { cwd: ROOT, encoding: 'utf8' });
}
