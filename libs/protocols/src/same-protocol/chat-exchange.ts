import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { Exchange, ExchangeRequest, JsonReading, StreamSink } from '../exchange.ts';
import { editPaths } from '../json/edit-paths.ts';
import { isRecord, parseJson, record, records } from '../json/json-guard.ts';
import { applyPatches } from '../json/json-splice.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { callCount, generatedText } from '../tap/chat-text.ts';
import { readChatUsage } from '../usage/chat-usage.ts';
import { ChatStream } from './chat-stream.ts';
import { fieldEdits } from './field-edits.ts';
import { withModel } from './with-model.ts';

/** chat -> chat: the request's and the answer's own bytes, but for the closed list of docs/translation.md. */
export function chatExchange(request: ExchangeRequest): Exchange {
  const { ask, idSeed } = request;
  return {
    path: '/chat/completions',
    requestBody: chatRequest(request),
    requestHeaders: {},
    readJson: (body) => readCompletion(body, ask.model),
    openStream: (sink: StreamSink) =>
      new EventStreamReader(
        new ChatStream({ model: ask.model, wantsStreamUsage: ask.wantsStreamUsage, idSeed, sink }),
      ),
  };
}

function chatRequest(request: ExchangeRequest): Uint8Array {
  const { ask, outputLimitField } = request;
  const edits = fieldEdits(request, outputLimitField);
  // Without it most upstreams report no usage on streams; it is hidden from a client that did not ask (behaviour 8).
  if (ask.isStream && !ask.wantsStreamUsage)
    edits.push(
      isRecord(ask.body['stream_options'])
        ? { path: ['stream_options', 'include_usage'], text: 'true' }
        : { path: ['stream_options'], text: '{"include_usage":true}' },
    );
  return applyPatches(ask.raw, editPaths(ask.raw, ask.layout, edits));
}

function readCompletion(body: Uint8Array, model: string): JsonReading {
  const answer = parseJson(body);
  const error = readInBandError(answer);
  if (error) return { kind: 'error', error };
  if (!isRecord(answer) || !Array.isArray(answer['choices']))
    return { kind: 'error', error: upstreamError('unreadable') };
  const outputText = records(answer['choices'])
    .map((choice) => generatedText(record(choice['message'])))
    .join('');
  return {
    kind: 'answer',
    body: withModel(body, model),
    usage: readChatUsage(answer['usage']),
    outputText,
    calls: callCount(records(answer['choices'])),
  };
}
