import type { StoredIds, StreamReader, StreamSink } from '../exchange.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { ResponsesStream } from './responses-stream.ts';

/** Opens the events of a stored response, from its beginning or a later one, as its client may see them. */
export function openStoredStream({
  ids,
  model,
  idSeed,
  after = -1,
  sink,
}: {
  ids: StoredIds;
  /** Is the client's name of it. */
  model: string;
  idSeed: string;
  /** Events up to this number are read, and not shown. */
  after?: number;
  sink: StreamSink;
}): StreamReader {
  return new EventStreamReader(
    new ResponsesStream({ ask: { body: {}, model }, ids, idSeed, after, sink }),
  );
}
