import { createHash } from 'node:crypto';
import { z } from 'zod';
import { parseJson } from '../../../platform/parse-json.ts';
import type { ArchiveStore } from './archive-store.ts';

const MANIFEST = 'manifest.json';

/** Limits the size of a part's CSV before compression. gzip adds less than a thousandth at worst, so no part exceeds the 5 GiB of one upload to S3. */
const PART_BYTES_MAX = 4 * 1024 ** 3;

const count = z.number().int().nonnegative();
const part = z.object({ file: z.string(), rows: count, bytes: count, sha256: z.string() });
/** Describes a day of several parts: the sums of their figures, and the SHA-256 of their hashes, one per line. */
const severalParts = part.omit({ file: true }).extend({ parts: z.array(part).min(2) });
const archivedAt = { archived_at: z.iso.datetime() };
const manifestSchema = z.object({
  format: z.literal(1),
  columns: z.array(z.string()),
  days: z.record(z.iso.date(), z.union([severalParts.extend(archivedAt), part.extend(archivedAt)])),
});
type Manifest = z.output<typeof manifestSchema>;
type Part = z.output<typeof part>;
export type ArchivedDay = Manifest['days'][string];

/** Is the value as text, as PostgreSQL writes it. */
export type ArchiveCell = string | null;

class ArchiveUnusable extends Error {}

/**
 * Writes one gzipped CSV file for each day, or several for a large one, and a manifest with rows, size and SHA-256 of each. A file gets its name only
 * when it is complete, and the manifest lists a day after all of its files, so an export may be interrupted at any point.
 */
export class Archive {
  private constructor(
    private readonly store: ArchiveStore,
    private readonly manifest: Manifest,
    private readonly partBytesMax: number,
  ) {}

  static async open(
    store: ArchiveStore,
    columns: readonly string[],
    partBytesMax = PART_BYTES_MAX,
  ): Promise<Archive> {
    const manifest = (await readManifest(store)) ?? { format: 1 as const, days: {} };
    return new Archive(store, { ...manifest, columns: [...columns] }, partBytesMax);
  }

  /** Returns the archived day; null when it is missing, or a file differs from the manifest. */
  async whole(day: string): Promise<ArchivedDay | null> {
    const entry = this.manifest.days[day];
    if (!entry) return null;
    for (const { file, sha256 } of 'parts' in entry ? entry.parts : [entry])
      if ((await this.store.sha256Of(file)) !== sha256) return null;
    return entry;
  }

  async write(day: string, rows: AsyncIterable<ArchiveCell[]>): Promise<ArchivedDay> {
    const source = new PartedRows(rows, this.partBytesMax);
    const parts: Part[] = [];
    do {
      const file = `usage-${day}${parts.length === 0 ? '' : `.${parts.length + 1}`}.csv.gz`;
      const written = await this.store.write(file, source.nextPart(this.manifest.columns));
      parts.push({ file, rows: source.rowsOfPart, ...written });
    } while (!source.isAtEnd);
    const entry = { ...joined(parts), archived_at: new Date().toISOString() };
    this.manifest.days[day] = entry;
    await this.store.writeText(MANIFEST, `${JSON.stringify(this.manifest, null, 2)}\n`);
    return entry;
  }
}

/** Writes rows as lines of consecutive files, each with the column names, and begins a new file at the line that reaches the size. */
class PartedRows {
  rowsOfPart = 0;
  isAtEnd = false;
  private readonly rows: AsyncIterator<ArchiveCell[]>;
  private next: ArchiveCell[] | undefined;

  constructor(
    rows: AsyncIterable<ArchiveCell[]>,
    private readonly bytesMax: number,
  ) {
    this.rows = rows[Symbol.asyncIterator]();
  }

  async *nextPart(columns: readonly string[]): AsyncGenerator<string> {
    this.rowsOfPart = 0;
    yield exactLine(columns);
    if (this.next === undefined) await this.advance();
    for (let bytes = 0; this.next !== undefined && bytes < this.bytesMax;) {
      const line = exactLine(this.next);
      bytes += Buffer.byteLength(line);
      this.rowsOfPart += 1;
      yield line;
      await this.advance();
    }
  }

  private async advance(): Promise<void> {
    const { done, value } = await this.rows.next();
    this.isAtEnd = done === true;
    this.next = done ? undefined : value;
  }
}

/**
 * Formats a line by RFC 4180 without changes for spreadsheets or terminals, because archived rows are deleted from the database. As in PostgreSQL's
 * COPY, null is an empty cell and an empty text a quoted one.
 */
function exactLine(cells: readonly ArchiveCell[]): string {
  const texts = cells.map((cell) =>
    cell === null
      ? ''
      : cell === '' || /[",\r\n]/.test(cell)
        ? `"${cell.replaceAll('"', '""')}"`
        : cell,
  );
  return `${texts.join(',')}\r\n`;
}

function joined(parts: readonly Part[]): Part | z.output<typeof severalParts> {
  const [first] = parts;
  if (first && parts.length === 1) return first;
  const sum = (field: 'rows' | 'bytes') => parts.reduce((total, one) => total + one[field], 0);
  const hashes = parts.map(({ sha256 }) => `${sha256}\n`).join('');
  const sha256 = createHash('sha256').update(hashes).digest('hex');
  return { rows: sum('rows'), bytes: sum('bytes'), sha256, parts: [...parts] };
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
