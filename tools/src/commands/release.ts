import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, STATE_FOLDER } from '../checkout.ts';
import { git } from '../release/git.ts';
import { releaseChanges, ReleaseRefused, type FileChange } from '../release/changes.ts';
import { provenanceProblems, writeProvenance } from '../release/write-provenance.ts';

const USAGE = `npm run release -- VERSION [--dry-run]
  npm run release -- VERSION --provenance [--builder URI] [--key PRIVATE.pem] FILE... [--dry-run]
  npm run release -- --verify STATEMENT --key PUBLIC.pem FILE...`;
const IMAGES = ['control-plane', 'proxy-node', 'demo-upstream'];

/**
 * `npm run release -- 1.2.3 [--dry-run]`: one number for packages, images and chart; the changelog's unreleased part becomes that of the version.
 * `npm run release -- 1.2.3 --provenance FILE...`: what the built files are from, signed with `--key`; `--verify` compares files with it.
 * The first writes the files and a bill of materials; committing, tagging and pushing are left to a person.
 */
export async function release(args: readonly string[]): Promise<number> {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'dry-run': { type: 'boolean', default: false },
      provenance: { type: 'boolean', default: false },
      builder: { type: 'string', default: 'urn:tollgate:builder:by-hand' },
      key: { type: 'string' },
      verify: { type: 'string' },
    },
  });
  const { verify: envelopeFile, key: keyFile } = values;
  if (envelopeFile !== undefined) {
    if (keyFile === undefined || positionals.length === 0) throw new Error(USAGE);
    return reportProblems(await provenanceProblems(positionals, { envelopeFile, keyFile }));
  }
  const [version, ...files] = positionals;
  if (version === undefined || values.provenance !== files.length > 0) throw new Error(USAGE);
  const isDryRun = values['dry-run'];
  if (values.provenance)
    await writeProvenance(files, { version, builder: values.builder, keyFile, isDryRun });
  else changeVersion(version, isDryRun);
  return 0;
}

function reportProblems(problems: readonly string[]): number {
  console.log(
    problems.length === 0 ? 'Every file is the one that was built.' : problems.join('\n'),
  );
  return problems.length === 0 ? 0 : 1;
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

/** The lines that change. */
function describe({ file, before, after }: FileChange): string {
  const known = new Set(before.split('\n'));
  const added = after.split('\n').filter((line) => !known.has(line));
  return [file, ...added.map((line) => `  + ${line.trim()}`)].join('\n');
}

/** CycloneDX, of what is shipped (`npm run sbom`). */
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
    ...builds,
    '  helm package deploy/helm/tollgate',
    `  npm run release -- ${version} --provenance --key release.key tollgate-${version}.tgz .tollgate/release/tollgate-${version}.cdx.json`,
    '  attach the bill of materials and the provenance to the release',
  ].join('\n');
}
