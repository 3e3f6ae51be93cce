import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { Exchange, ExchangeRequest, JsonReading, StreamSink } from '../exchange.ts';
import { isRecord, parseJson, record, records } from '../json/json-guard.ts';
import { findMember, layoutObject } from '../json/json-layout.ts';
import { applyPatches, editObject } from '../json/json-splice.ts';
import type { Patch } from '../json/json-splice.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { generatedText } from '../tap/chat-text.ts';
import { readChatUsage } from '../usage/chat-usage.ts';
import { ChatStream } from './chat-stream.ts';
import { limitEdits } from './limit-edits.ts';
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

function chatRequest({
  ask,
  upstreamModel,
  outputLimit,
  outputLimitField,
}: ExchangeRequest): Uint8Array {
  const edits: Record<string, string | null> = {
    ...limitEdits(ask.body, outputLimit, {
      fields: ['max_tokens', 'max_completion_tokens'],
      fallback: outputLimitField,
    }),
  };
  if (ask.model !== upstreamModel) edits['model'] = JSON.stringify(upstreamModel);
  const nested: Patch[] = [];
  // Without it most upstreams report no usage on streams; it is hidden from a client that did not ask (behaviour 8).
  if (ask.isStream && !ask.wantsStreamUsage) {
    const options = findMember(ask.layout, 'stream_options');
    const inner = options && layoutObject(ask.raw, options.valueStart);
    if (inner) nested.push(...editObject(inner, { include_usage: 'true' }));
    else edits['stream_options'] = '{"include_usage":true}';
  }
  return applyPatches(ask.raw, [...editObject(ask.layout, edits), ...nested]);
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
  };
}
