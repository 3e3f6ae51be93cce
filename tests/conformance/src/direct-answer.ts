import { isDone, looseJson, textEvents, type Loose } from './event-text.ts';
import { readChat, readMessages, type Reading } from './reading.ts';
import type { Recording } from './recordings.ts';

/** Holds what a recording is to a client that asks the provider itself. */
export type DirectAnswer =
  | { kind: 'answer'; reading: Reading }
  | { kind: 'error' }
  /** Not even the provider's own SDK makes sense of it: only its bytes can be compared. */
  | { kind: 'unreadable'; reason: string };

const OPTIONS = { baseUrl: 'http://provider.invalid', apiKey: 'none' };

export async function directAnswer(recording: Recording): Promise<DirectAnswer> {
  if (recording.status >= 400 || hasErrorInside(recording)) return { kind: 'error' };
  if (recording.protocol === 'embeddings')
    return { kind: 'unreadable', reason: 'vectors pass as they are' };
  const { protocol, isStream, body } = recording;
  const fetch = async (): Promise<Response> =>
    new Response(new Uint8Array(body), {
      headers: { 'content-type': isStream ? 'text/event-stream' : 'application/json' },
    });
  const request = {
    model: 'm',
    max_tokens: 1,
    messages: [{ role: 'user', content: 'hi' }],
    ...(isStream ? { stream: true } : {}),
  };
  try {
    return {
      kind: 'answer',
      reading: await (protocol === 'chat' ? readChat : readMessages)({
        ...OPTIONS,
        fetch,
        body: request,
      }),
    };
  } catch (error) {
    return { kind: 'unreadable', reason: error instanceof Error ? error.message : String(error) };
  }
}

function hasErrorInside({ protocol, isStream, body }: Recording): boolean {
  const text = body.toString('utf8');
  if (!isStream) return isErrorValue(looseJson(text)) || !hasAnswer(protocol, looseJson(text));
  const events = textEvents(text);
  const values: Loose[] = events
    .filter((event) => !isDone(event))
    .map(({ data }) => looseJson(data));
  if (values.some((value) => value === undefined || isErrorValue(value))) return true;
  if (protocol === 'messages')
    return !values.some((value) => value.type === 'message_delta' && value.delta?.stop_reason);
  const hasFinish = values.some((value) =>
    (value.choices ?? []).some((choice: Loose) => choice.finish_reason),
  );
  const hasContent = values.some((value) =>
    (value.choices ?? []).some(
      (choice: Loose) => choice.delta?.content || choice.delta?.tool_calls,
    ),
  );
  return !hasFinish && !(hasContent && events.some(isDone));
}

function isErrorValue(value: Loose): boolean {
  return Boolean(value?.error) || value?.type === 'error' || value?.object === 'error';
}

function hasAnswer(protocol: Recording['protocol'], value: Loose): boolean {
  return Array.isArray(
    protocol === 'chat' ? value?.choices : protocol === 'messages' ? value?.content : value?.data,
  );
}
