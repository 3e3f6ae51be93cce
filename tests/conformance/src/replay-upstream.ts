import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { looseJson } from './event-text.ts';
import type { Recording } from './recordings.ts';

export interface ReplayUpstream {
  url: string;
  close: () => Promise<void>;
}

/** Cuts pieces of odd sizes, so that no check depends on where a provider's packets happened to end. */
const PIECES = [1, 17, 300, 4_096, 5, 65_536];
/** They belong to the connection the recording was made on. */
const CONNECTION_HEADERS = new Set([
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'connection',
  'date',
]);

/** Answers each request with the recording whose number stands in it, with its status and headers. The number travels as the end user's name, which every translation carries. */
export async function startReplayUpstream(
  recordings: readonly Recording[],
): Promise<ReplayUpstream> {
  const server = createServer((request, response) => {
    answer(recordings, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function recordingName(index: number): string {
  return `recording-${index}`;
}

async function answer(
  recordings: readonly Recording[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = looseJson(Buffer.concat(chunks).toString('utf8'));
  const name = String(body?.user ?? body?.metadata?.user_id ?? '');
  const recording = recordings[Number(name.replace('recording-', ''))];
  if (!recording || !name)
    return void response
      .writeHead(418, { 'content-type': 'application/json' })
      .end('{"error":{"message":"which recording?"}}');
  const headers = Object.entries(recording.headers).filter(
    ([header]) => !CONNECTION_HEADERS.has(header),
  );
  response.writeHead(recording.status, {
    'content-type': recording.isStream ? 'text/event-stream' : 'application/json',
    ...Object.fromEntries(headers),
  });
  let at = 0;
  for (let piece = 0; at < recording.body.length; piece += 1) {
    const size = PIECES[piece % PIECES.length] ?? 1;
    response.write(recording.body.subarray(at, at + size));
    at += size;
    await turn();
  }
  response.end();
}
