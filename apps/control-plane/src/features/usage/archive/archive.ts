import { z } from 'zod';
import { parseJson } from '../../../platform/parse-json.ts';
import { csvLine, type CsvCell } from '../../../platform/http/csv.ts';
import type { ArchiveStore } from './archive-store.ts';

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
 * One gzipped CSV file for each day and a manifest that names rows, size and SHA-256 of each. A file has its name only once it is whole, and the
 * manifest lists it only after that, so an export may be interrupted anywhere.
 */
export class Archive {
  private constructor(
    private readonly store: ArchiveStore,
    private readonly manifest: Manifest,
  ) {}

  static async open(store: ArchiveStore, columns: readonly string[]): Promise<Archive> {
    const manifest = await readManifest(store);
    return new Archive(store, { ...(manifest ?? { format: 1, days: {} }), columns: [...columns] });
  }

  /** What is archived of the day; null when there is nothing, or its file is not what the manifest says. */
  async whole(day: string): Promise<ArchivedDay | null> {
    const entry = this.manifest.days[day];
    if (!entry) return null;
    return (await this.store.sha256Of(entry.file)) === entry.sha256 ? entry : null;
  }

  async write(day: string, rows: AsyncIterable<CsvCell[]>): Promise<ArchivedDay> {
    const file = `usage-${day}.csv.gz`;
    const counted = { rows: 0 };
    const written = await this.store.write(file, lines(this.manifest.columns, rows, counted));
    const entry = { file, rows: counted.rows, ...written, archived_at: new Date().toISOString() };
    this.manifest.days[day] = entry;
    await this.store.writeText(MANIFEST, `${JSON.stringify(this.manifest, null, 2)}\n`);
    return entry;
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

async function readManifest(store: ArchiveStore): Promise<Manifest | null> {
  const text = await store.readText(MANIFEST);
  if (text === null) return null;
  const parsed = manifestSchema.safeParse(parseJson(text));
  if (!parsed.success)
    throw new ArchiveUnusable(
      `${store.nameOf(MANIFEST)} is not a manifest of this release; use another folder.`,
    );
  return parsed.data;
}
