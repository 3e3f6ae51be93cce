import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { Exchange, ExchangeRequest, JsonReading, StreamSink } from '../exchange.ts';
import { editPaths } from '../json/edit-paths.ts';
import { isRecord, parseJson, records } from '../json/json-guard.ts';
import { applyPatches } from '../json/json-splice.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { messageText } from '../tap/message-text.ts';
import { readMessagesUsage } from '../usage/messages-usage.ts';
import { fieldEdits } from './field-edits.ts';
import { MessagesStream } from './messages-stream.ts';
import { unsignedThinkingPatches } from './unsigned-thinking.ts';
import { withModel } from './with-model.ts';

/** For clients that send none; still accepted beside the newer one (docs/design/protocols.md#keys-and-versions). */
const DEFAULT_VERSION = '2023-06-01';

/** messages -> messages: the request's and the answer's own bytes, but for the closed list of docs/translation.md. Version and betas are forwarded as they are. */
export function messagesExchange(request: ExchangeRequest): Exchange {
  const { ask, clientHeaders, idSeed } = request;
  const beta = clientHeaders['anthropic-beta'];
  return {
    path: '/messages',
    requestBody: messagesRequest(request),
    requestHeaders: {
      'anthropic-version': clientHeaders['anthropic-version'] ?? DEFAULT_VERSION,
      ...(beta === undefined ? {} : { 'anthropic-beta': beta }),
    },
    readJson: (body) => readMessage(body, ask.model),
    openStream: (sink: StreamSink) =>
      new EventStreamReader(new MessagesStream({ model: ask.model, idSeed, sink })),
  };
}

function messagesRequest(request: ExchangeRequest): Uint8Array {
  const { ask } = request;
  return applyPatches(ask.raw, [
    ...editPaths(ask.raw, ask.layout, fieldEdits(request, 'max_tokens')),
    ...unsignedThinkingPatches(ask),
  ]);
}

function readMessage(body: Uint8Array, model: string): JsonReading {
  const answer = parseJson(body);
  const error = readInBandError(answer);
  if (error) return { kind: 'error', error };
  if (!isRecord(answer) || !Array.isArray(answer['content']))
    return { kind: 'error', error: upstreamError('unreadable') };
  return {
    kind: 'answer',
    body: withModel(body, model),
    usage: readMessagesUsage(answer['usage']),
    outputText: records(answer['content']).map(messageText).join(''),
  };
}
