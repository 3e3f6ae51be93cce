import { chatDifference, jsonDifference, messagesDifference } from './closed-list.ts';
import { clientRequest } from './client-request.ts';
import { readingDifferences } from './compare-readings.ts';
import { directAnswer, type DirectAnswer } from './direct-answer.ts';
import { errorDifferences } from './error-answer.ts';
import { expectedUsage } from './expected-usage.ts';
import { startGateway, type Gateway, type RoutedUpstream } from './gateway.ts';
import { inLanes } from './in-lanes.ts';
import { readChatStrictly, readMessages } from './reading.ts';
import { readRecordings, type RecordedProtocol, type Recording } from './recordings.ts';
import { startReplayUpstream } from './replay-upstream.ts';
import { usageDifferences, usageRows } from './usage-rows.ts';

const CONCURRENCY = 6;

/** Is one recording as the upstream's answer to one kind of client. */
interface Replay {
  recording: Recording;
  index: number;
  client: RecordedProtocol;
  wantsUsage: boolean;
  direct: DirectAnswer;
  model: string;
}

export interface Replayed {
  recording: Recording;
  way: 'same' | 'translated';
  /** Is empty when all is as promised. */
  failures: string[];
  /** Is the reason why meaning was not compared. */
  note: string | null;
}

/** Replays every recording of these folders through a real proxy node, for clients of its own protocol and of the other one, and looks at bytes, meaning and books. */
export async function runConformance(folders: readonly string[]): Promise<Replayed[]> {
  const recordings = folders.flatMap(readRecordings);
  const directs = await Promise.all(recordings.map(directAnswer));
  const upstream = await startReplayUpstream(recordings);
  const gateway = await startGateway();
  try {
    const replays = await withModels(plan(recordings, directs), gateway, upstream.url);
    const answers = await inLanes(replays, CONCURRENCY, (replay) => send(gateway, replay));
    const rows = await usageRows(
      gateway.tollgate.databaseUrl,
      answers.map(({ rid }) => rid),
    );
    return replays.map((replay, at) => {
      const { failures, rid } = answers[at] ?? { failures: [], rid: '' };
      const booked = usageDifferences(
        rows.get(rid),
        replay.direct.kind === 'error' ? 'nothing' : expectedUsage(replay.recording),
      );
      const note =
        replay.direct.kind === 'unreadable' && replay.client !== 'embeddings'
          ? replay.direct.reason
          : null;
      return {
        recording: replay.recording,
        way: replay.client === replay.recording.protocol ? 'same' : 'translated',
        failures: [...failures, ...booked],
        note,
      };
    });
  } finally {
    await gateway.stop();
    await upstream.close();
  }
}

function plan(
  recordings: readonly Recording[],
  directs: readonly DirectAnswer[],
): Omit<Replay, 'model'>[] {
  return recordings.flatMap((recording, index): Omit<Replay, 'model'>[] => {
    const direct: DirectAnswer = directs[index] ?? { kind: 'error' };
    const replay = { recording, index, direct, wantsUsage: false };
    if (recording.protocol === 'embeddings') return [{ ...replay, client: 'embeddings' as const }];
    const other = recording.protocol === 'chat' ? ('messages' as const) : ('chat' as const);
    const isStreamOfChat =
      recording.protocol === 'chat' && recording.isStream && direct.kind !== 'error';
    return [
      { ...replay, client: recording.protocol },
      ...(isStreamOfChat ? [{ ...replay, client: 'chat' as const, wantsUsage: true }] : []),
      ...(direct.kind === 'unreadable' ? [] : [{ ...replay, client: other, wantsUsage: true }]),
    ];
  });
}

/** Answers share one upstream a protocol; each error has one of its own, as a failing upstream is rightly left alone for a while. */
async function withModels(
  replays: readonly Omit<Replay, 'model'>[],
  gateway: Gateway,
  url: string,
): Promise<Replay[]> {
  const upstreamOf = ({ recording }: Omit<Replay, 'model'>): RoutedUpstream => ({
    url,
    protocol: recording.protocol === 'messages' ? 'anthropic' : 'openai',
    kind: recording.protocol === 'embeddings' ? 'embedding' : 'chat',
  });
  const groups = new Map<string, RoutedUpstream>();
  const groupOf = (replay: Omit<Replay, 'model'>, at: number): string =>
    replay.direct.kind === 'error' ? `error ${at}` : replay.recording.protocol;
  replays.forEach((replay, at) => groups.set(groupOf(replay, at), upstreamOf(replay)));
  const models = await gateway.addModels([...groups.values()]);
  const names = new Map([...groups.keys()].map((group, at) => [group, models[at]?.name ?? '']));
  return replays.map((replay, at) => ({ ...replay, model: names.get(groupOf(replay, at)) ?? '' }));
}

interface Answered {
  rid: string;
  failures: string[];
}

const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  embeddings: '/v1/embeddings',
};

async function send(gateway: Gateway, replay: Replay): Promise<Answered> {
  const { recording, client, direct } = replay;
  const body = clientRequest({ ...replay, usage: expectedUsage(recording) });
  let last: { response: Response; text: string } | null = null;
  const passing = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    last = { response, text: await response.text() };
    return new Response(last.text, { status: response.status, headers: response.headers });
  };
  const judge = async (): Promise<string[]> => {
    if (direct.kind === 'error' || client === recording.protocol) {
      const { response, text } = await post(gateway, client, body);
      last = { response, text };
      return direct.kind === 'error'
        ? errorDifferences(recording, { client, response, text })
        : sameDifferences(replay, { status: response.status, text });
    }
    if (direct.kind === 'unreadable' || client === 'embeddings') return [];
    const read = client === 'chat' ? readChatStrictly : readMessages;
    const reading = await read({
      fetch: passing,
      baseUrl: gateway.nodeUrl,
      apiKey: gateway.apiKey,
      body,
    });
    return readingDifferences(direct.reading, reading, { client, usage: expectedUsage(recording) });
  };
  const failures = await judge().catch((error: unknown) => [
    `${error instanceof Error ? error.message : String(error)}${last === null ? '' : ` (after ${last.text.slice(0, 300)})`}`,
  ]);
  return { rid: ridOf(last), failures };
}

function ridOf(last: { response: Response } | null): string {
  return last?.response.headers.get('x-request-id') ?? '';
}

async function post(
  { nodeUrl, apiKey }: Gateway,
  client: RecordedProtocol,
  body: object,
): Promise<{ response: Response; text: string }> {
  const response = await fetch(`${nodeUrl}${PATHS[client]}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
    },
    body: JSON.stringify(body),
  });
  return { response, text: await response.text() };
}

function sameDifferences(
  { recording, wantsUsage, model }: Replay,
  { status, text }: { status: number; text: string },
): string[] {
  if (status !== 200) return [`answered ${status}: ${text.slice(0, 300)}`];
  const changed = { upstream: recording.body.toString('utf8'), client: text, model };
  const difference = !recording.isStream
    ? jsonDifference(changed)
    : recording.protocol === 'messages'
      ? messagesDifference(changed)
      : chatDifference(changed, wantsUsage);
  return difference === null ? [] : [difference];
}
