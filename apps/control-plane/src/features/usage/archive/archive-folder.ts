import { createWriteStream, existsSync } from 'node:fs';
import { mkdir, readFile, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { z } from 'zod';
import { sha256Of, syncFile, writeDurably } from '../../../platform/files/durable-files.ts';
import { parseJson } from '../../../platform/parse-json.ts';
import { csvLine, type CsvCell } from '../../../platform/http/csv.ts';

const MANIFEST = 'manifest.json';

const manifestSchema = z.object({
  format: z.literal(1),
  columns: z.array(z.string()),
  days: z.record(
    z.iso.date(),
    z.object({
      file: z.string(),
      rows: z.number().int().nonnegative(),
      bytes: z.number().int().nonnegative(),
      sha256: z.string(),
      archived_at: z.iso.datetime(),
    }),
  ),
});
type Manifest = z.output<typeof manifestSchema>;
export type ArchivedDay = Manifest['days'][string];

class ArchiveUnusable extends Error {}

/**
 * A folder with one gzipped CSV file for each day and a manifest that names rows, size and SHA-256 of each. A file has its name only once it is whole
 * and on disk, and the manifest lists it only after that, so an export may be interrupted anywhere.
 */
export class ArchiveFolder {
  private constructor(
    private readonly folder: string,
    private readonly manifest: Manifest,
  ) {}

  static async open(folder: string, columns: readonly string[]): Promise<ArchiveFolder> {
    await mkdir(folder, { recursive: true });
    const manifest = await readManifest(path.join(folder, MANIFEST));
    return new ArchiveFolder(folder, {
      ...(manifest ?? { format: 1, days: {} }),
      columns: [...columns],
    });
  }

  /** What is archived of the day; null when there is nothing, or its file is not what the manifest says. */
  async whole(day: string): Promise<ArchivedDay | null> {
    const entry = this.manifest.days[day];
    if (!entry) return null;
    const sha256 = await sha256Of(path.join(this.folder, entry.file)).catch(() => null);
    return sha256 === entry.sha256 ? entry : null;
  }

  async write(day: string, rows: AsyncIterable<CsvCell[]>): Promise<ArchivedDay> {
    const file = `usage-${day}.csv.gz`;
    const target = path.join(this.folder, file);
    const counted = { rows: 0 };
    await pipeline(
      Readable.from(lines(this.manifest.columns, rows, counted)),
      createGzip(),
      createWriteStream(`${target}.part`, { mode: 0o600 }),
    );
    await syncFile(`${target}.part`);
    await rename(`${target}.part`, target);
    const entry = {
      file,
      rows: counted.rows,
      bytes: (await stat(target)).size,
      sha256: await sha256Of(target),
      archived_at: new Date().toISOString(),
    };
    this.manifest.days[day] = entry;
    await this.writeManifest();
    return entry;
  }

  private writeManifest(): Promise<void> {
    return writeDurably(
      path.join(this.folder, MANIFEST),
      `${JSON.stringify(this.manifest, null, 2)}\n`,
    );
  }
}

async function* lines(
  columns: readonly string[],
  rows: AsyncIterable<CsvCell[]>,
  counted: { rows: number },
): AsyncGenerator<string> {
  yield csvLine([...columns]);
  for await (const row of rows) {
    counted.rows += 1;
    yield csvLine(row);
  }
}

async function readManifest(file: string): Promise<Manifest | null> {
  if (!existsSync(file)) return null;
  const text = await readFile(file, 'utf8');
  const parsed = manifestSchema.safeParse(parseJson(text));
  if (!parsed.success)
    throw new ArchiveUnusable(`${file} is not a manifest of this release; use another folder.`);
  return parsed.data;
}
