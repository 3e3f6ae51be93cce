import { answerWithin } from '@tollgate/harness';
import pg from 'pg';
import type { NormalUsage } from './expected-usage.ts';

const WAIT_MS = 30_000;

export interface UsageRow {
  rid: string;
  charge: number;
  basis: string;
  outcome: string;
  input_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  output_tokens: number;
  cache_write_1h_tokens: number;
  audio_input_tokens: number;
  audio_output_tokens: number;
  image_input_tokens: number;
  image_output_tokens: number;
}

/** Is in the order of the booked counts. */
const WANTED = [
  'input',
  'cacheRead',
  'cacheWrite',
  'output',
  'cacheWrite1h',
  'audioInput',
  'audioOutput',
  'imageInput',
  'imageOutput',
] as const satisfies readonly (keyof NormalUsage)[];
const QUERY = `SELECT rid::text, charge::int, basis, outcome, input_tokens::int, cache_read_tokens::int, cache_write_tokens::int, output_tokens::int,
  cache_write_1h_tokens::int, audio_input_tokens::int, audio_output_tokens::int,
  image_input_tokens::int, image_output_tokens::int
  FROM usage_events WHERE kind = 'usage' AND rid = ANY($1::uuid[])`;

/** Returns what was booked, by request id, once every request's row has arrived or the wait is over. */
export async function usageRows(
  databaseUrl: string,
  rids: readonly string[],
): Promise<Map<string, UsageRow>> {
  const wanted = rids.filter((rid) => rid !== '');
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    let rows: UsageRow[] = [];
    await answerWithin(WAIT_MS, async () => {
      rows = (await client.query<UsageRow>(QUERY, [wanted])).rows;
      return rows.length >= wanted.length;
    });
    return new Map(rows.map((row) => [row.rid, row]));
  } finally {
    await client.end();
  }
}

/** Compares the row with `expected`, which is null when nothing was reported, so that the gateway counts. */
export function usageDifferences(
  row: UsageRow | undefined,
  expected: NormalUsage | null | 'nothing',
): string[] {
  if (expected === 'nothing')
    return row && row.charge > 0 && row.outcome !== 'upstream_interrupted'
      ? [`an error was charged ${row.charge}`]
      : [];
  if (!row) return ['no usage row'];
  if (expected === null)
    return row.basis === 'estimated' ? [] : [`unreported usage is booked as ${row.basis}`];
  const booked = [
    row.input_tokens,
    row.cache_read_tokens,
    row.cache_write_tokens,
    row.output_tokens,
    row.cache_write_1h_tokens,
    row.audio_input_tokens,
    row.audio_output_tokens,
    row.image_input_tokens,
    row.image_output_tokens,
  ];
  const wanted = WANTED.map((key) => expected[key]);
  if (row.basis === 'reported' && booked.every((count, at) => count === wanted[at])) return [];
  return [
    `booked ${row.basis} ${booked.join('/')} instead of ${wanted.join('/')} (input/read/write/output/write 1 h/audio in/audio out/image in/image out)`,
  ];
}
