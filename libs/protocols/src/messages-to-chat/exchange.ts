import { NO_USAGE } from '@tollgate/contracts';
import type { Exchange, ExchangeRequest } from '../exchange.ts';
import { jsonBytes, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { namedEvent, PING_EVENT } from '../sse/sse-format.ts';
import { openaiAnswers } from '../answers/openai/answers.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { madeIdentity } from '../stream/made-identity.ts';
import { readJson } from '../answers/read-json.ts';
import { TranslatedStream } from '../translation/translated-stream.ts';
import type { StreamTranslation } from '../translation/translated-stream.ts';
import { toMessage } from './message-back.ts';
import { toChatRequest } from './request.ts';
import { finishMessage, messageStep, startMessage } from './stream-back.ts';
import type { MessageState } from './stream-back.ts';

/** Serves a messages client from a chat upstream. */
export function messagesToChatExchange({
  ask,
  upstreamModel,
  outputLimit,
  outputLimitField,
  idSeed,
}: ExchangeRequest): Exchange {
  const { id } = madeIdentity('msg_', idSeed);
  return {
    path: '/chat/completions',
    requestBody: jsonBytes(
      toChatRequest(ask.body, { upstreamModel, outputLimit, outputLimitField }),
    ),
    requestHeaders: {},
    readJson: (body) =>
      readJson(body, openaiAnswers, (answer, usage) =>
        jsonBytes(toMessage(answer, { id, model: ask.model, usage: usage ?? NO_USAGE })),
      ),
    openStream: (sink) =>
      new EventStreamReader(
        new TranslatedStream({
          protocol: 'messages',
          answers: openaiAnswers,
          translation: messageTranslation(id, ask.model),
          idSeed,
          sink,
        }),
      ),
  };
}

function messageTranslation(id: string, model: string): StreamTranslation<MessageState> {
  return {
    initial: startMessage(id, model),
    step: messageStep,
    finish: finishMessage,
    failure: (_, body) => body,
    format: (event: JsonRecord) => namedEvent({ ...event, type: text(event['type']) ?? '' }),
    trailer: '',
    keepAlive: PING_EVENT,
  };
}
