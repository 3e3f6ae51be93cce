import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { fieldName, parseAsk, unknownFields, type ClientProtocol } from '@tollgate/protocols';
import { RECORDINGS_FOLDER } from './recordings.ts';

const FOLDERS = ['chat', 'messages', 'embeddings', 'providers/azure'];
/** Lists the fields that recorded requests have and known fields do not, each with the reason. */
const JUDGED: Readonly<Record<string, string>> = {};

interface RecordedRequest {
  file: string;
  protocol: ClientProtocol;
  body: Record<string, unknown>;
}

function requests(): RecordedRequest[] {
  return FOLDERS.flatMap((folder) =>
    filesBelow(path.join(RECORDINGS_FOLDER, folder)).map((file) => {
      const body: Record<string, unknown> = JSON.parse(readFileSync(file, 'utf8'));
      return { file, protocol: protocolOf(file, body), body };
    }),
  );
}

function protocolOf(file: string, body: Record<string, unknown>): ClientProtocol {
  if (file.includes('/messages/')) return 'messages';
  if (body['messages'] !== undefined) return 'chat';
  // Azure's folder has several.
  return file.includes('embedding') ? 'embeddings' : 'responses';
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.req.json'))
    .map((name) => path.join(folder, name));
}

const recorded = requests();
if (recorded.length === 0)
  process.stderr.write(`no recordings in ${RECORDINGS_FOLDER}: their requests are not tried\n`);

(recorded.length > 0 ? describe : describe.skip)('recorded requests', () => {
  test('lose no field to an upstream that takes known ones, but for those that are judged', () => {
    const lost = recorded.flatMap(({ protocol, body }) =>
      unknownFields({ protocol, body }).map((field) => `${protocol} ${fieldName(field.path)}`),
    );
    process.stderr.write(`${recorded.length} recorded requests, ${lost.length} dropped fields\n`);
    for (const name of new Set(lost))
      process.stderr.write(`dropped: ${name} (${JUDGED[name] ?? 'not judged'})\n`);
    expect(lost.filter((name) => JUDGED[name] === undefined)).toEqual([]);
  });

  test('name no further model', () => {
    const named = recorded
      .filter(({ body }) => typeof body['model'] === 'string')
      .flatMap(({ protocol, body, file }) => {
        const request = { ...(protocol === 'messages' && { max_tokens: 1 }), ...body };
        const ask = parseAsk(protocol, Buffer.from(JSON.stringify(request)));
        return ask.nestedModels.map(({ param }) => `${path.basename(file)}: ${param}`);
      });
    expect(named).toEqual([]);
  });
});
