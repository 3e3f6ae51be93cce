import { mkdir, readFile, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../parse-json.ts';
import { sha256Of, syncFile, writeDurably } from '../../files/durable-files.ts';

const MANIFEST = 'manifest.json';
const UNFINISHED = '.part';

const count = z.number().int().nonnegative();
const tableSchema = z.object({
  name: z.string(),
  columns: z.array(z.string()),
  rows: count,
  file: z.string().regex(/^[a-z0-9_]+\.copy\.gz$/),
  bytes: count,
  sha256: z.string(),
});
const backupSchema = z.object({
  format: z.literal(1),
  id: z.uuid(),
  taken_at: z.iso.datetime(),
  /** Lists the names of the migrations that the database had. A release that lacks one cannot read the backup. */
  migrations: z.array(z.string()),
  /** Lists the tables in loading order: a referenced row comes before the rows that refer to it. */
  tables: z.array(tableSchema),
  partitions: z.array(z.object({ name: z.string(), parent: z.string(), bound: z.string() })),
  sequences: z.array(z.object({ name: z.string(), last: z.string() })),
});
export type Backup = z.output<typeof backupSchema>;
export type BackedUpTable = z.output<typeof tableSchema>;

class BackupUnusable extends Error {}

/** Creates the folder of a new backup, which is named as unfinished until `finish`, and removes the folders of interrupted backups. */
export async function beginBackup(
  parent: string,
  takenAt: Date,
): Promise<{ folder: string; finish: (backup: Backup) => Promise<string> }> {
  await mkdir(parent, { recursive: true });
  for (const name of await readdir(parent))
    if (/^\d{4}-\d\d-\d\dT[\d-]+Z\.part$/.test(name))
      await rm(path.join(parent, name), { recursive: true });
  const target = path.join(parent, takenAt.toISOString().replaceAll(/[:.]/g, '-'));
  const folder = `${target}${UNFINISHED}`;
  await mkdir(folder, { mode: 0o700 });
  return {
    folder,
    finish: async (backup) => {
      await writeDurably(path.join(folder, MANIFEST), `${JSON.stringify(backup, null, 2)}\n`);
      await rename(folder, target);
      await syncFile(parent);
      return target;
    },
  };
}

export async function readBackup(folder: string): Promise<Backup> {
  const file = path.join(folder, MANIFEST);
  const text = await readFile(file, 'utf8').catch(() => {
    throw new BackupUnusable(`${file} cannot be read: the folder is not a whole backup.`);
  });
  const parsed = backupSchema.safeParse(parseJson(text));
  if (!parsed.success) throw new BackupUnusable(`${file} is not a manifest of this release.`);
  return parsed.data;
}

/** Returns the files that are missing or differ from the manifest; calls `onFile` after each. */
export async function damagedFiles(
  folder: string,
  { tables }: Backup,
  onFile: (file: string) => void,
): Promise<string[]> {
  const damaged: string[] = [];
  for (const { file, sha256 } of tables) {
    const found = await sha256Of(path.join(folder, file)).catch(() => null);
    if (found !== sha256) damaged.push(file);
    onFile(file);
  }
  return damaged;
}
