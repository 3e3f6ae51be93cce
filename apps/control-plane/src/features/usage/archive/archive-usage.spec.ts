import { createHash } from 'node:crypto';
import {
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { startControlPlane, type ControlPlane } from '../../../testing/control-plane-under-test.ts';
import { PartitionKeeper } from '../ingest/partition-keeper.ts';
import { FolderStore } from './archive-store.ts';
import { archiveUsage, type DayReport } from './archive-usage.sql.ts';

const DAY_MS = 86_400_000;
let plane: ControlPlane;
let folder: string;
beforeAll(async () => {
  plane = await startControlPlane({ USAGE_RETENTION_DAYS: '30', USAGE_ARCHIVE: 'required' });
}, 60_000);
afterAll(() => plane?.stop());
afterEach(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'tollgate-archive-'));
  await plane.administrator.query('DELETE FROM usage_events; DELETE FROM usage_archives');
});

const dayOf = (daysAgo: number): string =>
  new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);
/** Books requests of one day, whose node has a name that CSV must quote. */
const book = (daysAgo: number, count: number): Promise<unknown> =>
  plane.administrator.query(
    `INSERT INTO usage_events (day, rid, seq, kind, user_id, subscription_id, model_id, delta, node, started_at)
     SELECT $1::date, gen_random_uuid(), 0, 'usage', 1, 1, 1, n, 'a "b", c', $1::date + interval '1 hour' FROM generate_series(1, $2::int) n`,
    [dayOf(daysAgo), count],
  );
async function run(isDryRun = false, partBytesMax?: number): Promise<DayReport[]> {
  const reports: DayReport[] = [];
  for await (const report of archiveUsage(plane.dataSource, {
    store: new FolderStore(folder),
    isDryRun,
    ...(partBytesMax !== undefined && { partBytesMax }),
  }))
    reports.push(report);
  return reports;
}
const fileOf = (daysAgo: number): string => path.join(folder, `usage-${dayOf(daysAgo)}.csv.gz`);
const linesOf = (daysAgo: number): string[] =>
  gunzipSync(readFileSync(fileOf(daysAgo)))
    .toString()
    .trimEnd()
    .split('\r\n');
const manifest = () => JSON.parse(readFileSync(path.join(folder, 'manifest.json'), 'utf8'));
const rowsLeft = async (daysAgo: number): Promise<number> => {
  const [row] = await plane.administrator.query(
    'SELECT count(*)::int AS rows FROM usage_events WHERE day = $1',
    [dayOf(daysAgo)],
  );
  return row.rows;
};

test('every row of every finished day is written once, beside its checksum; the running days are left for later', async () => {
  // The rows are more than one page of the cursor.
  await book(40, 5_003);
  await book(39, 2);
  await book(1, 7);
  expect(await run()).toEqual([
    { day: dayOf(40), rows: 5_003, state: 'written' },
    { day: dayOf(39), rows: 2, state: 'written' },
  ]);
  const [header = '', ...lines] = linesOf(40);
  const columns = header.split(',');
  expect(columns).toEqual(expect.arrayContaining(['day', 'rid', 'charge', 'started_at']));
  expect(lines).toHaveLength(5_003);
  const at = columns.indexOf('delta');
  const sum = lines.reduce((total, line) => total + Number(line.split(',')[at]), 0);
  expect(sum).toBe((5_003 * 5_004) / 2);
  expect(lines[0]).toContain('"a ""b"", c"');
  const { days } = manifest();
  for (const ago of [40, 39])
    expect(days[dayOf(ago)].sha256).toBe(
      createHash('sha256')
        .update(readFileSync(fileOf(ago)))
        .digest('hex'),
    );
});

test('a large day has several files that the manifest lists, each whole by itself; together they hold every row once', async () => {
  await book(40, 100);
  await book(39, 1);
  const whole = { day: dayOf(40), rows: 100 };
  expect((await run(false, 4_000))[0]).toEqual({ ...whole, state: 'written' });
  const { format, days } = manifest();
  const { parts, sha256, rows } = days[dayOf(40)];
  expect([format, rows, parts.length > 2]).toEqual([1, 100, true]);
  expect(days[dayOf(39)].file).toBe(`usage-${dayOf(39)}.csv.gz`);
  const read = (file: string) => readFileSync(path.join(folder, file));
  const hash = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');
  const seen = new Set<string>();
  for (const { file, rows: held, sha256: expected } of parts) {
    expect(hash(read(file))).toBe(expected);
    const [header = '', ...lines] = gunzipSync(read(file)).toString().trimEnd().split('\r\n');
    expect(header).toContain('rid');
    expect(lines).toHaveLength(held);
    for (const line of lines) seen.add(line);
  }
  expect(seen.size).toBe(100);
  expect(sha256).toBe(hash(parts.map((one: { sha256: string }) => `${one.sha256}\n`).join('')));
  expect((await run(false, 4_000))[0]).toEqual({ ...whole, state: 'unchanged' });
  rmSync(path.join(folder, parts[1].file));
  expect((await run())[0]).toEqual({ ...whole, state: 'written' });
  expect([manifest().format, manifest().days[dayOf(40)].rows]).toEqual([1, 100]);
});

test('what is exported is what PostgreSQL has, to the last character: it reads its rows back from the files', async () => {
  const { administrator: dataSource } = plane;
  const texts = [
    '=1+1',
    '-2',
    "'quoted'",
    'a\u001b[31mred\u202e',
    'two\r\nlines',
    '"',
    ' ',
    '',
    '1e5',
    '\t@x',
    'é,ü',
  ];
  await dataSource.query(
    `INSERT INTO usage_events (day, rid, seq, kind, user_id, subscription_id, model_id, delta, node, started_at)
     SELECT $1::date, gen_random_uuid(), 0, 'usage', 1, 1, 1, 1, t, $1::date FROM unnest($2::text[]) t`,
    [dayOf(40), texts],
  );
  await book(40, 1);
  await dataSource.query('UPDATE usage_events SET node = NULL WHERE delta = 1 AND node LIKE $1', [
    'a "b"%',
  ]);
  const before: object[] = await dataSource.query('SELECT * FROM usage_events ORDER BY rid');
  await run();
  const [header = [], ...records] = csvRecords(gunzipSync(readFileSync(fileOf(40))).toString());
  await dataSource.query('DELETE FROM usage_events');
  for (const cells of records) {
    const row = Object.fromEntries(header.map((name, at) => [name ?? '', cells[at]]));
    await dataSource.query(
      `INSERT INTO usage_events SELECT * FROM json_populate_record(NULL::usage_events, $1)`,
      [JSON.stringify(row)],
    );
  }
  expect(await dataSource.query('SELECT * FROM usage_events ORDER BY rid')).toEqual(before);
});

/** Reads CSV like PostgreSQL's COPY: an empty cell is null, a quoted one is text. */
function csvRecords(text: string): (string | null)[][] {
  const records: (string | null)[][] = [[]];
  for (const [, quoted, bare, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    records.at(-1)?.push(quoted?.replaceAll('""', '"') ?? (bare === '' ? null : (bare ?? null)));
    if (end !== ',') records.push([]);
  }
  return records.slice(0, -1);
}

test('a dry run writes nothing, neither files nor notes', async () => {
  await book(40, 3);
  expect(await run(true)).toEqual([{ day: dayOf(40), rows: 3, state: 'pending' }]);
  expect(readdirSync(folder)).toEqual([]);
  expect(await plane.administrator.query('SELECT * FROM usage_archives')).toEqual([]);
});

test('a repeated export changes nothing; one that was interrupted or whose file was damaged is completed', async () => {
  await book(40, 3);
  await book(39, 2);
  const interrupted = archiveUsage(plane.dataSource, {
    store: new FolderStore(folder),
    isDryRun: false,
  });
  await interrupted.next();
  await interrupted.return(undefined);
  writeFileSync(`${fileOf(39)}.part`, 'torn');
  expect((await run()).map(({ state }) => state)).toEqual(['unchanged', 'written']);
  const before = readFileSync(fileOf(40));
  expect((await run()).map(({ state }) => state)).toEqual(['unchanged', 'unchanged']);
  truncateSync(fileOf(40), 20);
  expect((await run()).map(({ state }) => state)).toEqual(['written', 'unchanged']);
  expect(readFileSync(fileOf(40))).toEqual(before);
  expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
});

test('a day goes only when all of its rows were exported, a late one included, and the log says each time that it waits', async () => {
  const partitions = plane.app.get(PartitionKeeper);
  const warned = jest.spyOn(Logger.prototype, 'warn');
  await book(40, 3);
  await partitions.look();
  expect(await rowsLeft(40)).toBe(3);
  await run();
  await book(40, 1);
  await partitions.look();
  expect(await rowsLeft(40)).toBe(4);
  expect(await run()).toEqual([{ day: dayOf(40), rows: 4, state: 'written' }]);
  await partitions.look();
  expect(await rowsLeft(40)).toBe(0);
  expect(linesOf(40)).toHaveLength(5);
  const waited = warned.mock.calls.filter(([line]) => String(line).startsWith(dayOf(40)));
  warned.mockRestore();
  expect(waited).toHaveLength(2);
});

test('a folder with a manifest of another program is refused and left as it is', async () => {
  await book(40, 1);
  writeFileSync(path.join(folder, 'manifest.json'), '{"format": 99}');
  await expect(run()).rejects.toThrow('manifest.json is not a manifest of this release');
  expect(readdirSync(folder)).toEqual(['manifest.json']);
});
