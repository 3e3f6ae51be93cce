import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, STATE_FOLDER } from '../checkout.ts';
import { git } from '../release/git.ts';
import { releaseChanges, ReleaseRefused, type FileChange } from '../release/changes.ts';

const USAGE = 'npm run release -- VERSION [--dry-run]';
const FIRST = path.join(ROOT, 'tests/fleet/src/first-release.json');
const IMAGES = ['control-plane', 'proxy-node', 'demo-upstream'];

/**
 * `npm run release -- 1.2.3 [--dry-run]` gives one number to packages, images and chart. The changelog's unreleased part becomes that of the version.
 * It writes the files and a bill of materials; committing, tagging and pushing are left to a person.
 */
export function release(args: readonly string[]): Promise<number> {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean', default: false } },
  });
  const [version, ...others] = positionals;
  if (version === undefined || others.length > 0) throw new Error(USAGE);
  changeVersion(version, values['dry-run']);
  return Promise.resolve(0);
}

function changeVersion(version: string, isDryRun: boolean): void {
  if (!isDryRun && git('status', '--porcelain') !== '')
    throw new Error('The checkout has changes.\n  Fix: Commit or stash them first.');
  const changes = changesOf(version);
  for (const change of changes) {
    console.log(describe(change));
    if (!isDryRun) writeFileSync(path.join(ROOT, change.file), change.after);
  }
  const bill = billOfMaterials();
  console.log(`bill of materials: ${bill.components} components`);
  if (!isDryRun) console.log(`wrote ${writeBill(version, bill.text)}`);
  console.log(nextSteps(version, isDryRun));
}

function changesOf(version: string): FileChange[] {
  const files = git('ls-files', 'CHANGELOG.md', '*package.json', 'deploy/helm/*/Chart.yaml')
    .split('\n')
    .filter((file) => /(^|\/)(CHANGELOG\.md|package\.json|Chart\.yaml)$/.test(file));
  const texts = new Map(files.map((file) => [file, readFileSync(path.join(ROOT, file), 'utf8')]));
  try {
    const date = new Date().toISOString().slice(0, 10);
    return releaseChanges(texts, { version, date });
  } catch (error) {
    if (error instanceof ReleaseRefused)
      throw new Error(`${error.message}\n  ${USAGE}`, { cause: error });
    throw error;
  }
}

/** Returns the lines that change. */
function describe({ file, before, after }: FileChange): string {
  const known = new Set(before.split('\n'));
  const added = after.split('\n').filter((line) => !known.has(line));
  return [file, ...added.map((line) => `  + ${line.trim()}`)].join('\n');
}

/** Returns the CycloneDX bill of the shipped components (`npm run sbom`). */
function billOfMaterials(): { text: string; components: number } {
  const text = execFileSync('npm', ['run', '--silent', 'sbom'], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
  });
  const parsed: { components?: unknown[] } = JSON.parse(text);
  const components = parsed.components?.length ?? 0;
  if (components === 0) throw new Error('The bill of materials is empty.');
  return { text, components };
}

function writeBill(version: string, text: string): string {
  const folder = path.join(STATE_FOLDER, 'release');
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `tollgate-${version}.cdx.json`);
  writeFileSync(file, text);
  return path.relative(ROOT, file);
}

function nextSteps(version: string, isDryRun: boolean): string {
  if (isDryRun) return 'Nothing was written.';
  const builds = IMAGES.map(
    (image) =>
      `  docker build -f deploy/Dockerfile --target ${image} -t tollgate/${image}:${version} .`,
  );
  return [
    'Next:',
    '  npm run generate && npm run check',
    `  git commit -am "Release ${version}" && git tag v${version}`,
    ...(isFirst() ? [nameFirst(version)] : []),
    ...builds,
    '  helm package deploy/helm/tollgate',
    '  attach the bill of materials to the release',
  ].join('\n');
}

/** Upgrades are tested from the first release on; its commit is known once it is made. */
function isFirst(): boolean {
  const { commit }: { commit: string | null } = JSON.parse(readFileSync(FIRST, 'utf8'));
  return commit === null;
}

function nameFirst(version: string): string {
  const named = `{ "release": "${version}", "commit": "'$(git rev-parse HEAD)'" }`;
  return `  echo '${named}' > ${path.relative(ROOT, FIRST)} && git commit -am "upgrade: start from release ${version}"`;
}
