import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

/** Is the folder of recordings beside the repository, or TOLLGATE_FIXTURES; they are never copied into it. */
export const RECORDINGS_FOLDER =
  process.env['TOLLGATE_FIXTURES'] ??
  path.resolve(import.meta.dirname, '../../../../shared/fixtures');

export type RecordedProtocol = 'chat' | 'messages' | 'embeddings';

/** Is one answer of a provider as it came over the wire. */
export interface Recording {
  /** Is the path inside the folder; it names the answer in reports. */
  file: string;
  protocol: RecordedProtocol;
  isStream: boolean;
  /** Is the author of the recording. */
  source: string;
  provider: string;
  status: number;
  /** Has lower-case names. */
  headers: Record<string, string>;
  body: Buffer;
  /** Is the request that brought it; null where it was not recorded. */
  request: Record<string, unknown> | null;
  /** The usage object the index names; undefined where there is no index, null where it says that there is none. */
  indexedUsage: unknown;
}

const PROTOCOLS = ['chat', 'messages', 'embeddings'] as const;
const FORMS = ['json', 'stream'] as const;
/** Names the endpoints that the gateway serves by itself. */
const OWN_ENDPOINTS = new Set(['count_tokens']);

const headerFile = z.looseObject({
  status: z.number().optional(),
  headers: z.record(z.string(), z.unknown()).optional(),
});
const jsonObject = z.record(z.string(), z.unknown());

type IndexRow = Readonly<Record<string, string>>;

/** Reads every answer found below `folder`, with what `index.tsv` knows of it. The index may be absent or incomplete. */
export function readRecordings(folder: string): Recording[] {
  const index = readIndex(path.join(folder, 'index.tsv'));
  return PROTOCOLS.flatMap((protocol) =>
    FORMS.flatMap((form) =>
      answerFiles(path.join(folder, protocol, form))
        .map((name) => `${protocol}/${form}/${name}`)
        .filter((file) => !OWN_ENDPOINTS.has(index.get(file)?.['kind'] ?? ''))
        .map((file) =>
          readRecording(folder, {
            file,
            protocol,
            isStream: form === 'stream',
            row: index.get(file),
          }),
        ),
    ),
  );
}

function answerFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => !name.endsWith('.req.json') && !name.endsWith('.hdr.json'))
    .toSorted();
}

function readRecording(
  folder: string,
  {
    file,
    protocol,
    isStream,
    row,
  }: { file: string; protocol: RecordedProtocol; isStream: boolean; row: IndexRow | undefined },
): Recording {
  const stem = file.replace(/(?:\.chunks\.txt|\.sse|\.json)$/, '');
  const { status, headers = {} } = headerFile
    .catch({})
    .parse(readJson(path.join(folder, `${stem}.hdr.json`)) ?? {});
  const requestFile = row?.['request_file'] || `${stem}.req.json`;
  const request = jsonObject.safeParse(readJson(path.join(folder, requestFile)));
  const bytes = readFileSync(path.join(folder, file));
  const [source = ''] = path.basename(file).split('__');
  return {
    file,
    protocol,
    isStream,
    source: row?.['source_repo'] || source,
    provider: row?.['provider'] || source,
    status: status ?? (Number(row?.['http_status']) || 200),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
    ),
    body: file.endsWith('.chunks.txt') ? framed(bytes.toString('utf8'), protocol) : bytes,
    request: request.success ? request.data : null,
    indexedUsage: row === undefined ? undefined : parseCell(row['usage_json'] ?? ''),
  };
}

/** One JSON event a line gets back the framing that was cut off (the folder's README). */
function framed(text: string, protocol: RecordedProtocol): Buffer {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const isMessages = protocol === 'messages';
  const events = lines.map((line) =>
    isMessages ? `event: ${eventType(line)}\ndata: ${line}\n\n` : `data: ${line}\n\n`,
  );
  return Buffer.from(events.join('') + (isMessages ? '' : 'data: [DONE]\n\n'));
}

function eventType(line: string): string {
  return z.looseObject({ type: z.string() }).parse(JSON.parse(line)).type;
}

function readIndex(file: string): Map<string, IndexRow> {
  if (!existsSync(file)) return new Map();
  const [header = '', ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
  const names = header.split('\t');
  const rows = lines.map((line): IndexRow =>
    Object.fromEntries(line.split('\t').map((cell, at) => [names[at] ?? '', cell])),
  );
  return new Map(rows.map((row) => [row['file'] ?? '', row]));
}

/** A cell that holds JSON is quoted, its quotes doubled. */
function parseCell(cell: string): unknown {
  const text = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
  return text === '' ? null : JSON.parse(text);
}

function readJson(file: string): unknown {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}
