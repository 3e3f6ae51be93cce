import { NO_USAGE } from '@tollgate/contracts';
import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { Exchange, ExchangeRequest, JsonReading } from '../exchange.ts';
import { isRecord, jsonBytes, parseJson, records } from '../json/json-guard.ts';
import { COMMENT_EVENT, dataEvent, DONE_EVENT } from '../sse/sse-format.ts';
import { anthropicAnswers } from '../providers/anthropic/answers.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { madeIdentity } from '../stream/made-identity.ts';
import type { Identity } from '../stream/made-identity.ts';
import { messageCalls, messageText } from '../tap/message-text.ts';
import { TRANSLATED_HEADERS } from '../translation/anthropic-headers.ts';
import { TranslatedStream } from '../translation/translated-stream.ts';
import type { StreamTranslation } from '../translation/translated-stream.ts';
import { readMessagesUsage } from '../usage/messages-usage.ts';
import { toCompletion } from './completion-back.ts';
import { toMessagesRequest } from './request.ts';
import { chunkStep, finishChunks, startChunks } from './stream-back.ts';
import type { ChunkState } from './stream-back.ts';

/** A chat client before an Anthropic upstream. */
export function chatToMessagesExchange({
  ask,
  upstreamModel,
  outputLimit,
  idSeed,
}: ExchangeRequest): Exchange {
  const identity = madeIdentity('chatcmpl-', idSeed);
  const translation = chunkTranslation(identity, ask.model, ask.wantsStreamUsage);
  return {
    path: '/messages',
    requestBody: jsonBytes(toMessagesRequest(ask.body, { upstreamModel, outputLimit })),
    requestHeaders: TRANSLATED_HEADERS,
    readJson: (body) => readMessage(body, identity, ask.model),
    openStream: (sink) =>
      new EventStreamReader(
        new TranslatedStream({
          protocol: 'chat',
          answers: anthropicAnswers,
          translation,
          idSeed,
          sink,
        }),
      ),
  };
}

function readMessage(body: Uint8Array, identity: Identity, model: string): JsonReading {
  const answer = parseJson(body);
  const error = readInBandError(answer);
  if (error) return { kind: 'error', error };
  if (!isRecord(answer) || !Array.isArray(answer['content']))
    return { kind: 'error', error: upstreamError('unreadable') };
  const usage = readMessagesUsage(answer['usage']);
  return {
    kind: 'answer',
    body: jsonBytes(toCompletion(answer, { identity, model, usage: usage ?? NO_USAGE })),
    usage,
    outputText: records(answer['content']).map(messageText).join(''),
    calls: messageCalls(records(answer['content'])),
  };
}

function chunkTranslation(
  identity: Identity,
  model: string,
  wantsUsage: boolean,
): StreamTranslation<ChunkState> {
  return {
    initial: startChunks(identity, model),
    step: chunkStep,
    finish: (state, end) => finishChunks(state, { ...end, wantsUsage }),
    failure: (_, body) => body,
    format: dataEvent,
    trailer: DONE_EVENT,
    keepAlive: COMMENT_EVENT,
  };
}
