import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ROOT, STATE_FOLDER } from '../checkout.ts';
import { git } from './git.ts';
import { provenanceOf, type Digested } from './provenance.ts';

export interface ProvenanceOptions {
  readonly version: string;
  readonly builder: string;
  readonly isDryRun: boolean;
}

/** Writes what the files were built from, beside the bill of materials. Only a clean checkout of the version's tag is what it says. */
export async function writeProvenance(
  files: readonly string[],
  { version, builder, isDryRun }: ProvenanceOptions,
): Promise<void> {
  const commit = git('rev-parse', 'HEAD');
  if (!isDryRun) demandTag(version, commit);
  const statement = provenanceOf({
    version,
    commit,
    repository: git('remote').split('\n').includes('origin')
      ? git('remote', 'get-url', 'origin')
      : null,
    lockfile: { ...(await digest(path.join(ROOT, 'pnpm-lock.yaml'))), name: 'pnpm-lock.yaml' },
    subjects: await Promise.all(files.map(digest)),
    builder,
    finishedAt: new Date(),
  });
  const text = `${JSON.stringify(statement, null, 2)}\n`;
  if (isDryRun) return console.log(`${text}Nothing was written.`);
  const target = path.join(STATE_FOLDER, 'release', `tollgate-${version}.intoto.json`);
  await mkdir(path.dirname(target), { recursive: true });
  await writeFile(target, text);
  console.log(`wrote ${path.relative(ROOT, target)}`);
}

function demandTag(version: string, commit: string): void {
  if (git('status', '--porcelain') !== '')
    throw new Error('The checkout has changes.\n  Fix: Build from the tag without changes.');
  if (!git('tag', '--points-at', commit).split('\n').includes(`v${version}`))
    throw new Error(
      `The checkout is not that of the tag v${version}.\n  Fix: git checkout v${version}, build again.`,
    );
}

async function digest(file: string): Promise<Digested> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return { name: path.basename(file), sha256: hash.digest('hex') };
}
