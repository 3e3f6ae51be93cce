import type { ThreadSize } from '@tollgate/contracts';
import type {
  CountAsk,
  CountExchange,
  Exchange,
  ExchangeRequest,
  StoredIds,
  StreamSink,
} from '../exchange.ts';
import { editPaths, withoutFields } from '../json/edit-paths.ts';
import { applyPatches } from '../json/json-splice.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { anthropicAnswers } from '../answers/anthropic/answers.ts';
import { readJson } from '../answers/read-json.ts';
import { openedIds } from '../stored/references.ts';
import { sealedMessage } from '../stored/sealed-ids.ts';
import { asksForThread, threadSize } from '../stored/threads.ts';
import { fieldEdits, modelEdit } from './field-edits.ts';
import { MessagesStream } from './messages-stream.ts';
import { unsignedThinkingPatches } from './unsigned-thinking.ts';
import { withModel } from '../json/with-model.ts';

/** Serves clients that send no version; it is still accepted beside the newer one (docs/design/protocols.md#keys-and-versions). */
const DEFAULT_VERSION = '2023-06-01';

/** Carries messages to messages: the request's and the answer's own bytes, but for the closed list of docs/translation.md. Version and betas are forwarded as they are. */
export function messagesExchange(request: ExchangeRequest): Exchange {
  const { ask, ids, clientHeaders, idSeed } = request;
  const bounds = threadBounds(request);
  return {
    path: '/messages',
    requestBody: messagesRequest(request),
    requestHeaders: versionHeaders(clientHeaders),
    readJson: (body) =>
      readJson(body, anthropicAnswers, (answer, usage) => {
        const thread = bounds && { thread: threadSize(usage, { bounds, isOver: true }) };
        return withModel(body, ask.model, ids && sealedMessage(answer, { ids, ...thread }));
      }),
    openStream: (sink: StreamSink, framer) =>
      new EventStreamReader(
        new MessagesStream({ model: ask.model, ids, bounds, idSeed, sink }),
        framer,
      ),
  };
}

/** Returns null where the answer's id names nothing that can be continued. */
function threadBounds({ ask, ids, bounds }: ExchangeRequest): ThreadSize | null {
  if (!asksForThread(ask)) return null;
  if (!ids || !bounds) throw new Error('The next turn of a thread must be bounded.');
  return bounds;
}

/** Makes a count_tokens request for an upstream that counts by itself; it is answered `{"input_tokens": N}`. */
export function messagesCount(
  ask: CountAsk,
  {
    upstreamModel,
    clientHeaders,
    ids,
    dropped = [],
  }: Pick<ExchangeRequest, 'upstreamModel' | 'clientHeaders' | 'dropped'> & { ids: StoredIds },
): CountExchange {
  const edits = [modelEdit(upstreamModel), ...withoutFields(dropped), ...openedIds(ask, ids)];
  return {
    path: '/messages/count_tokens',
    requestBody: applyPatches(ask.raw, [
      ...editPaths(ask.raw, ask.layout, edits),
      ...unsignedThinkingPatches(ask),
    ]),
    requestHeaders: versionHeaders(clientHeaders),
  };
}

function versionHeaders(clientHeaders: ExchangeRequest['clientHeaders']): Record<string, string> {
  const beta = clientHeaders['anthropic-beta'];
  return {
    'anthropic-version': clientHeaders['anthropic-version'] ?? DEFAULT_VERSION,
    ...(beta === undefined ? {} : { 'anthropic-beta': beta }),
  };
}

function messagesRequest(request: ExchangeRequest): Uint8Array {
  const { ask, ids } = request;
  const edits = [...fieldEdits(request, 'max_tokens'), ...(ids ? openedIds(ask, ids) : [])];
  return applyPatches(ask.raw, [
    ...editPaths(ask.raw, ask.layout, edits),
    ...unsignedThinkingPatches(ask),
  ]);
}
