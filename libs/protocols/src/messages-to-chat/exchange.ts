import { NO_USAGE } from '@tollgate/contracts';
import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { Exchange, ExchangeRequest, JsonReading } from '../exchange.ts';
import { isRecord, jsonBytes, parseJson, record, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { namedEvent, PING_EVENT } from '../sse/sse-format.ts';
import { openaiAnswers } from '../providers/openai/answers.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { madeIdentity } from '../stream/made-identity.ts';
import { callCount, generatedText } from '../tap/chat-text.ts';
import { TranslatedStream } from '../translation/translated-stream.ts';
import type { StreamTranslation } from '../translation/translated-stream.ts';
import { readChatUsage } from '../usage/chat-usage.ts';
import { toMessage } from './message-back.ts';
import { toChatRequest } from './request.ts';
import { finishMessage, messageStep, startMessage } from './stream-back.ts';
import type { MessageState } from './stream-back.ts';

/** A messages client before a chat upstream. */
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
    readJson: (body) => readCompletion(body, id, ask.model),
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

function readCompletion(body: Uint8Array, id: string, model: string): JsonReading {
  const answer = parseJson(body);
  const error = readInBandError(answer);
  if (error) return { kind: 'error', error };
  if (!isRecord(answer) || records(answer['choices']).length === 0)
    return { kind: 'error', error: upstreamError('unreadable') };
  const usage = readChatUsage(answer['usage']);
  const outputText = records(answer['choices'])
    .map((choice) => generatedText(record(choice['message'])))
    .join('');
  return {
    kind: 'answer',
    body: jsonBytes(toMessage(answer, { id, model, usage: usage ?? NO_USAGE })),
    usage,
    outputText,
    calls: callCount(records(answer['choices'])),
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
