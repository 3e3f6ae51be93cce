import { NO_USAGE } from '@tollgate/contracts';
import type { Exchange, ExchangeRequest } from '../exchange.ts';
import { jsonBytes } from '../json/json-guard.ts';
import { COMMENT_EVENT, dataEvent, DONE_EVENT } from '../sse/sse-format.ts';
import { anthropicAnswers } from '../answers/anthropic/answers.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { madeIdentity } from '../stream/made-identity.ts';
import type { Identity } from '../stream/made-identity.ts';
import { readJson } from '../answers/read-json.ts';
import { TRANSLATED_HEADERS } from '../translation/anthropic-headers.ts';
import { TranslatedStream } from '../translation/translated-stream.ts';
import type { StreamTranslation } from '../translation/translated-stream.ts';
import { toCompletion } from './completion-back.ts';
import { toMessagesRequest } from './request.ts';
import { chunkStep, finishChunks, startChunks } from './stream-back.ts';
import type { ChunkState } from './stream-back.ts';

/** Serves a chat client from an Anthropic upstream. */
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
    readJson: (body) =>
      readJson(body, anthropicAnswers, (answer, usage) =>
        jsonBytes(toCompletion(answer, { identity, model: ask.model, usage: usage ?? NO_USAGE })),
      ),
    openStream: (sink, framer) =>
      new EventStreamReader(
        new TranslatedStream({
          protocol: 'chat',
          answers: anthropicAnswers,
          translation,
          idSeed,
          sink,
        }),
        framer,
      ),
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
