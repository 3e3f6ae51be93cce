import type { NormalUsage } from './expected-usage.ts';
import type { RecordedProtocol, Recording } from './recordings.ts';
import { recordingName } from './replay-upstream.ts';

/** A recording that does not name its limit is assumed to have this one. */
const OUTPUT_TOKENS = 4_096;

interface Wanted {
  client: RecordedProtocol;
  recording: Recording;
  /** Place in the list the replay upstream has. */
  index: number;
  model: string;
  wantsUsage: boolean;
  usage: NormalUsage | null;
}

/** Returns the recorded request where there is one and the client speaks its protocol, else one that could have brought this answer. */
export function clientRequest({
  client,
  recording,
  index,
  model,
  wantsUsage,
  usage,
}: Wanted): Record<string, unknown> {
  const { isStream, protocol, request } = recording;
  const prompt =
    (usage?.input ?? 0) +
    (usage?.cacheRead ?? 0) +
    (usage?.cacheWrite ?? 0) +
    (usage?.cacheWrite1h ?? 0) +
    (usage?.audioInput ?? 0) +
    (usage?.imageInput ?? 0);
  // The limit is no more than was generated: a stream that is ended by its limit shows here.
  const outputMax =
    (usage?.output ?? 0) + (usage?.audioOutput ?? 0) + (usage?.imageOutput ?? 0) || OUTPUT_TOKENS;
  const base =
    client === protocol && request ? request : minimalRequest(client, { prompt, outputMax });
  const { stream: _, stream_options: __, ...rest } = base;
  const streaming = isStream
    ? {
        stream: true,
        ...(client === 'chat' && wantsUsage ? { stream_options: { include_usage: true } } : {}),
      }
    : {};
  const name = recordingName(index);
  return {
    ...rest,
    ...streaming,
    model,
    ...(client === 'messages' ? { metadata: { user_id: name } } : { user: name }),
  };
}

/** Makes a prompt about as long as the recorded one: usage beyond any bound of the request would rightly be doubted. */
function minimalRequest(
  client: RecordedProtocol,
  { prompt, outputMax }: { prompt: number; outputMax: number },
): Record<string, unknown> {
  const content = `Hello${' hello'.repeat(Math.ceil(prompt / 6))}`;
  if (client === 'embeddings') return { input: content };
  return {
    messages: [{ role: 'user', content }],
    max_tokens: outputMax,
  };
}
