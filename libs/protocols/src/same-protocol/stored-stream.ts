import type { StoredIds, StreamReader } from '../exchange.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { ResponsesStream } from './responses-stream.ts';

/** The events of a stored response, from its beginning or a later one, as its client may see them: they are counted nowhere. */
export function openStoredStream({
  ids,
  model,
  idSeed,
}: {
  ids: StoredIds;
  /** The client's name of it. */
  model: string;
  idSeed: string;
}): StreamReader {
  const sink = { output: () => undefined };
  return new EventStreamReader(
    new ResponsesStream({ ask: { body: {}, model }, ids, idSeed, sink }),
  );
}
