import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { ROOT, STATE_FOLDER } from '../checkout.ts';
import { opened, sealed } from './envelope.ts';
import { git } from './git.ts';
import { provenanceOf, type Digested } from './provenance.ts';

export interface ProvenanceOptions {
  readonly version: string;
  readonly builder: string;
  /** PEM file of the private key that signs; without it the statement is written unsigned. */
  readonly keyFile: string | undefined;
  readonly isDryRun: boolean;
}

const statementOfFiles = z.object({
  subject: z.array(z.object({ name: z.string(), digest: z.object({ sha256: z.string() }) })),
});

/** Writes what the files were built from, beside the bill of materials, signed where a key is given. Only a clean checkout of the version's tag is what it says. */
export async function writeProvenance(
  files: readonly string[],
  { version, builder, keyFile, isDryRun }: ProvenanceOptions,
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
  const plain = `${JSON.stringify(statement, null, 2)}\n`;
  const text = keyFile === undefined ? plain : sealed(plain, keyOf(keyFile, createPrivateKey));
  if (isDryRun) return console.log(`${plain}${text === plain ? '' : text}Nothing was written.`);
  const target = path.join(STATE_FOLDER, 'release', `tollgate-${version}.intoto.json`);
  await mkdir(path.dirname(target), { recursive: true });
  await writeFile(target, text);
  console.log(`wrote ${path.relative(ROOT, target)}${keyFile === undefined ? ', unsigned' : ''}`);
}

/** What is wrong with the files, by a signed statement about them; none when each is the one that was built. */
export async function provenanceProblems(
  files: readonly string[],
  { envelopeFile, keyFile }: { envelopeFile: string; keyFile: string },
): Promise<string[]> {
  const text = opened(await readFile(envelopeFile, 'utf8'), keyOf(keyFile, createPublicKey));
  if (text === null) return [`${envelopeFile} is not signed with this key`];
  const { subject } = statementOfFiles.parse(JSON.parse(text));
  const known = new Set(subject.map(({ name, digest: { sha256 } }) => `${name} ${sha256}`));
  const found = await Promise.all(files.map(digest));
  return found
    .filter(({ name, sha256 }) => !known.has(`${name} ${sha256}`))
    .map(({ name }) => `${name} is not among the files that were built`);
}

function keyOf(file: string, read: (pem: Buffer) => KeyObject): KeyObject {
  try {
    return read(readFileSync(file));
  } catch (error) {
    throw new Error(
      `${file} is no key in PEM.\n  Fix: openssl genpkey -algorithm ed25519 -out release.key`,
      {
        cause: error,
      },
    );
  }
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
