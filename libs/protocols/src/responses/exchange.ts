import { NO_USAGE } from '@tollgate/contracts';
import type { TokenUsage } from '@tollgate/contracts';
import { toMessagesRequest } from '../chat-to-messages/request.ts';
import type { Ask, Exchange, ExchangeRequest } from '../exchange.ts';
import { jsonBytes, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { joinUserMessages } from '../messages-to-chat/conversation.ts';
import { toMessage } from '../messages-to-chat/message-back.ts';
import { finishMessage, messageStep, startMessage } from '../messages-to-chat/stream-back.ts';
import type { MessageState } from '../messages-to-chat/stream-back.ts';
import { messageBlockEvents } from '../answers/anthropic/message-events.ts';
import { COMMENT_EVENT, namedEvent } from '../sse/sse-format.ts';
import { anthropicAnswers } from '../answers/anthropic/answers.ts';
import { openaiAnswers } from '../answers/openai/answers.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { madeIdentity } from '../stream/made-identity.ts';
import { readJson } from '../answers/read-json.ts';
import { TRANSLATED_HEADERS } from '../translation/anthropic-headers.ts';
import { takesReasoningEffort, wantsReasoningBack } from '../translation/chat-model.ts';
import { TranslatedStream } from '../translation/translated-stream.ts';
import type { StreamTranslation } from '../translation/translated-stream.ts';
import {
  toChatBody,
  withOneSystemMessage,
  withoutThoughts,
  withTextOnlyResults,
} from './request.ts';
import { endedResponse } from './response-object.ts';
import { failResponse, finishResponse, responseStep, startResponse } from './stream-back.ts';
import type { ResponseState } from './stream-back.ts';
import { registerTools } from './tool-registry.ts';
import type { RegisteredTool } from './tool-registry.ts';

/** Serves a /v1/responses client from a chat upstream. Answers pass through the block events of messages, which are as sequential as output items. */
export function responsesToChatExchange({
  ask,
  upstreamModel,
  outputLimit,
  outputLimitField,
  idSeed,
}: ExchangeRequest): Exchange {
  const tools = registerTools(ask.body['tools']);
  const body = chatRequestOf(toChatBody(ask.body, tools), {
    upstreamModel,
    outputLimit,
    outputLimitField,
  });
  const start = startOf(ask, idSeed, tools);
  const translation = composed(startMessage(start.frame.identity.id, ask.model, 'refusal'), start);
  return {
    path: '/chat/completions',
    requestBody: jsonBytes(body),
    requestHeaders: {},
    readJson: (body) =>
      readJson(body, openaiAnswers, (answer, usage) => wholeOfCompletion(answer, start, usage)),
    openStream: (sink) =>
      new EventStreamReader(
        new TranslatedStream({
          protocol: 'responses',
          answers: openaiAnswers,
          translation,
          idSeed,
          sink,
        }),
      ),
  };
}

function chatRequestOf(
  { messages, max_tokens: own, reasoning_effort, ...rest }: JsonRecord,
  {
    upstreamModel,
    outputLimit,
    outputLimitField,
  }: Pick<ExchangeRequest, 'upstreamModel' | 'outputLimit' | 'outputLimitField'>,
): JsonRecord {
  const limit = Math.min(
    typeof own === 'number' ? own : Number.MAX_SAFE_INTEGER,
    outputLimit ?? Number.MAX_SAFE_INTEGER,
  );
  return {
    ...rest,
    model: upstreamModel,
    messages: withoutThoughts(
      joinUserMessages(withTextOnlyResults(withOneSystemMessage(records(messages)))),
      { keepsReasoning: wantsReasoningBack(upstreamModel) },
    ),
    ...(limit === Number.MAX_SAFE_INTEGER ? {} : { [outputLimitField]: limit }),
    ...(reasoning_effort !== undefined && takesReasoningEffort(upstreamModel)
      ? { reasoning_effort }
      : {}),
  };
}

/** Serves a /v1/responses client from an Anthropic upstream. */
export function responsesToMessagesExchange({
  ask,
  upstreamModel,
  outputLimit,
  idSeed,
}: ExchangeRequest): Exchange {
  const tools = registerTools(ask.body['tools']);
  const start = startOf(ask, idSeed, tools);
  const translation: StreamTranslation<ResponseState> = {
    ...RESPONSE_FORMAT,
    initial: start,
    step: responseStep,
    finish: finishResponse,
    failure: failResponse,
  };
  return {
    path: '/messages',
    requestBody: jsonBytes(
      toMessagesRequest(toChatBody(ask.body, tools), { upstreamModel, outputLimit }),
    ),
    requestHeaders: TRANSLATED_HEADERS,
    readJson: (body) =>
      readJson(body, anthropicAnswers, (answer, usage) =>
        jsonBytes(wholeResponse(answer, start, usage)),
      ),
    openStream: (sink, framer) =>
      new EventStreamReader(
        new TranslatedStream({
          protocol: 'responses',
          answers: anthropicAnswers,
          translation,
          idSeed,
          sink,
        }),
        framer,
      ),
  };
}

export const RESPONSE_FORMAT = {
  format: (event: JsonRecord) => namedEvent({ ...event, type: text(event['type']) ?? '' }),
  trailer: '',
  keepAlive: COMMENT_EVENT,
} as const;

export function startOf(ask: Ask, idSeed: string, tools: readonly RegisteredTool[]): ResponseState {
  return startResponse(
    { identity: madeIdentity('resp_', idSeed), model: ask.model, asked: ask.body },
    tools,
  );
}

interface ComposedState {
  readonly message: MessageState;
  readonly response: ResponseState;
}

/** Chains two translations: chat chunks to messages events, and those to responses events. */
function composed(
  message: MessageState,
  response: ResponseState,
): StreamTranslation<ComposedState> {
  return {
    ...RESPONSE_FORMAT,
    initial: { message, response },
    step: (state, chunk) => {
      const [next, events] = messageStep(state.message, chunk);
      const [response, responseEvents] = foldResponse(state.response, events);
      return [{ message: next, response }, responseEvents];
    },
    finish: (state, end) => {
      const [response, events] = foldResponse(state.response, finishMessage(state.message, end));
      return [...events, ...finishResponse(response, end)];
    },
    failure: (state, body) => failResponse(state.response, body),
  };
}

export function foldResponse(
  state: ResponseState,
  events: readonly JsonRecord[],
): readonly [ResponseState, JsonRecord[]] {
  let next = state;
  const translated: JsonRecord[] = [];
  for (const event of events) {
    const [after, more] = responseStep(next, event);
    next = after;
    translated.push(...more);
  }
  return [next, translated];
}

function wholeOfCompletion(
  answer: JsonRecord,
  start: ResponseState,
  usage: TokenUsage | null,
): Uint8Array {
  const message = toMessage(answer, {
    id: start.frame.identity.id,
    model: start.frame.model,
    usage: usage ?? NO_USAGE,
    refusalType: 'refusal',
  });
  return jsonBytes(wholeResponse(message, start, usage));
}

/** Returns the items that a stream of the same message would have produced, by the same code. */
export function wholeResponse(
  message: JsonRecord,
  start: ResponseState,
  usage: TokenUsage | null,
): JsonRecord {
  const [{ frame, output, stopReason }] = foldResponse(start, messageBlockEvents(message));
  return endedResponse(frame, { stopReason, output, usage: usage ?? NO_USAGE });
}
