import { isDone, looseJson, textEvents, type Loose } from './event-text.ts';
import type { RecordedProtocol, Recording } from './recordings.ts';

/** Compares an upstream's error with what the client must get: a fitting status and the client's own shape, or an error event and no success after it. */
export function errorDifferences(
  { status, body }: Recording,
  { client, response, text }: { client: RecordedProtocol; response: Response; text: string },
): string[] {
  if (response.status === 200) return streamedDifferences(client, text);
  return [
    ...statusDifferences(status, response.status),
    ...shapeDifferences(client, looseJson(text), response),
    ...wordDifferences(status, body.toString('utf8'), looseJson(text)),
  ];
}

/** Refused credentials of an upstream are an operator's error, never the caller's; an error of the caller stays the caller's. */
function statusDifferences(upstream: number, client: number): string[] {
  const isTheCallers = upstream === 400 || upstream === 422;
  const isFitting = isTheCallers
    ? client === 400
    : upstream === 413
      ? client === 413
      : upstream === 429
        ? client === 429 || client >= 500
        : upstream === 200
          ? client >= 400
          : client >= 500;
  return isFitting ? [] : [`an upstream's ${upstream} became ${client}`];
}

function shapeDifferences(client: RecordedProtocol, body: Loose, response: Response): string[] {
  const error = body?.error;
  const rid = response.headers.get('x-request-id');
  const isWhole =
    typeof error?.message === 'string' && error.message !== '' && typeof error.type === 'string';
  const isOwn = client !== 'messages' || (body.type === 'error' && body.request_id === rid);
  return isWhole && isOwn && rid === response.headers.get('request-id')
    ? []
    : [`not an error of ${client}: ${JSON.stringify(body)}`];
}

/** Clients act on the words of a 400, so they are kept, whatever shape they came in. */
function wordDifferences(status: number, upstream: string, body: Loose): string[] {
  const message = /"(?:message|detail)"\s*:\s*"([^"\\]{8,40})/.exec(upstream)?.[1];
  const isOverflow =
    body?.error?.code === 'context_length_exceeded' ||
    String(body?.error?.message).startsWith('prompt is too long');
  if (status !== 400 || message === undefined || isOverflow) return [];
  return String(body?.error?.message).includes(message)
    ? []
    : [`a 400 lost its words: ${message} -> ${body?.error?.message}`];
}

function streamedDifferences(client: RecordedProtocol, text: string): string[] {
  const events = textEvents(text);
  const last = events.at(-1);
  const body = looseJson(last?.data ?? '');
  const isError =
    client === 'messages'
      ? last?.name === 'error' && body?.type === 'error'
      : Boolean(body?.error?.message);
  const hasEnd = events.some((event) => isDone(event) || event.name === 'message_stop');
  return isError && !hasEnd
    ? []
    : [`the stream does not end with an error alone: ${text.slice(-300)}`];
}
