import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, test } from '@jest/globals';

/** Holds recorded provider traffic, kept beside the repository (`../shared/fixtures`) or where TOLLGATE_FIXTURES says. It is never copied into the repository. */
const FOLDER =
  process.env['TOLLGATE_FIXTURES'] ??
  resolve(dirname(fileURLToPath(import.meta.url)), '../../../../shared/fixtures');

export const hasFixtures = existsSync(join(FOLDER, 'index.tsv'));

export interface Recording {
  file: string;
  protocol: string;
  provider: string;
  isStream: boolean;
  status: number;
  hasError: boolean;
  /** Is the value that the index found; null when the recording has none. */
  usage: unknown;
  requestFile: string | null;
}

/** Is `describe`, which says that it was skipped, and why, where the recordings are absent. */
export function describeRecorded(name: string, body: () => void): void {
  if (hasFixtures) describe(name, body);
  else
    describe(name, () =>
      test.skip(`skipped: no recordings at ${FOLDER} (set TOLLGATE_FIXTURES)`, () => undefined),
    );
}

export function recordings(where: (recording: Recording) => boolean = () => true): Recording[] {
  if (!hasFixtures) return [];
  const [header = '', ...rows] = readFileSync(join(FOLDER, 'index.tsv'), 'utf8')
    .trimEnd()
    .split('\n');
  const names = header.split('\t');
  return rows.map((row) => toRecording(row.split('\t'), names)).filter(where);
}

function toRecording(cells: string[], names: string[]): Recording {
  const cell = (name: string): string => cells[names.indexOf(name)] ?? '';
  const usage = cell('usage_json').replace(/^"|"$/g, '').replaceAll('""', '"');
  return {
    file: cell('file'),
    protocol: cell('kind') === 'count_tokens' ? 'count_tokens' : cell('protocol'),
    provider: cell('provider'),
    isStream: cell('stream') === '1',
    status: Number(cell('http_status')) || 200,
    hasError: cell('has_error') === '1',
    usage: usage === '' ? null : JSON.parse(usage),
    requestFile: cell('request_file') || null,
  };
}

/** Describes a recording of a provider's own interface, from `providers/`. */
export interface ProviderRecording {
  name: string;
  url: string;
  status: number;
  isStream: boolean;
  body: Buffer;
  request: unknown;
}

export function providerRecordings(provider: string): ProviderRecording[] {
  const folder = join(FOLDER, 'providers', provider);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.meta.json'))
    .flatMap((file) => {
      const name = file.slice(0, -'.meta.json'.length);
      const answer = ['.sse', '.json'].find((type) => existsSync(join(folder, name + type)));
      if (answer === undefined) return [];
      const { url, status } = JSON.parse(readFileSync(join(folder, file), 'utf8'));
      const request = join(folder, `${name}.req.json`);
      return [
        {
          name,
          url,
          status,
          isStream: answer === '.sse',
          body: readFileSync(join(folder, name + answer)),
          request: existsSync(request) ? JSON.parse(readFileSync(request, 'utf8')) : null,
        },
      ];
    });
}

export function readFixture(file: string): Buffer {
  return readFileSync(join(FOLDER, file));
}

/** Returns the bytes that an upstream sent: `*.chunks.txt` gets its SSE framing back (their own README says how). */
export function upstreamBytes({ file, protocol }: Recording): Buffer {
  const bytes = readFixture(file);
  if (!file.endsWith('.chunks.txt')) return bytes;
  const lines = bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const events = lines.map((line) =>
    protocol === 'messages'
      ? `event: ${JSON.parse(line).type}\ndata: ${line}\n\n`
      : `data: ${line}\n\n`,
  );
  return Buffer.from(events.join('') + (protocol === 'messages' ? '' : 'data: [DONE]\n\n'));
}
