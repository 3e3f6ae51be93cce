import { NO_USAGE, type TokenUsage } from '@tollgate/contracts';
import { geminiAnswers } from '../answers/gemini/answers.ts';
import { readJson } from '../answers/read-json.ts';
import { toCompletion } from '../chat-to-messages/completion-back.ts';
import { toMessagesRequest } from '../chat-to-messages/request.ts';
import { chunkStep, finishChunks, startChunks } from '../chat-to-messages/stream-back.ts';
import type { ClientProtocol, Exchange, ExchangeRequest } from '../exchange.ts';
import { jsonBytes, text, type JsonRecord } from '../json/json-guard.ts';
import { foldResponse, RESPONSE_FORMAT, startOf, wholeResponse } from '../responses/exchange.ts';
import { chatBodyOf, toChatBody } from '../responses/request.ts';
import { finishResponse, failResponse } from '../responses/stream-back.ts';
import { registerTools } from '../responses/tool-registry.ts';
import { COMMENT_EVENT, dataEvent, DONE_EVENT, namedEvent, PING_EVENT } from '../sse/sse-format.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { madeIdentity } from '../stream/made-identity.ts';
import { TranslatedStream, type StreamTranslation } from '../translation/translated-stream.ts';
import { toGeminiMessage } from './message-back.ts';
import { toGeminiRequest, withChatSettings } from './request.ts';
import { chatSignatures, signatureIn } from './signatures.ts';
import { finishGemini, geminiStep, startGemini, type GeminiState } from './stream-back.ts';

type Limits = Pick<ExchangeRequest, 'upstreamModel' | 'outputLimit'>;

/** A messages client before Gemini. */
export function messagesToGeminiExchange(request: ExchangeRequest): Exchange {
  const { ask, idSeed } = request;
  const start = startGemini(madeIdentity('msg_', idSeed).id, ask.model);
  return exchangeOf(request, {
    body: messagesBody(ask.body, request),
    whole: (message) => message,
    translation: {
      initial: start,
      step: geminiStep,
      finish: finishGemini,
      failure: (_, body) => body,
      format: (event) => namedEvent({ ...event, type: text(event['type']) ?? '' }),
      trailer: '',
      keepAlive: PING_EVENT,
    },
    start,
  });
}

/** A chat client before Gemini, by way of messages. */
export function chatToGeminiExchange(request: ExchangeRequest): Exchange {
  const { ask, idSeed } = request;
  const identity = madeIdentity('chatcmpl-', idSeed);
  const start = startGemini(identity.id, ask.model);
  return exchangeOf(request, {
    body: chatBody(ask.body, request),
    whole: (message, usage) =>
      toCompletion(message, { identity, model: ask.model, usage: usage ?? NO_USAGE }),
    translation: {
      initial: { gemini: start, client: startChunks(identity, ask.model) },
      ...through(chunkStep, (state, end) =>
        finishChunks(state, { ...end, wantsUsage: ask.wantsStreamUsage }),
      ),
      failure: (_, body) => body,
      format: dataEvent,
      trailer: DONE_EVENT,
      keepAlive: COMMENT_EVENT,
    },
    start,
  });
}

/** A client of /v1/responses before Gemini, by way of chat and messages. */
export function responsesToGeminiExchange(request: ExchangeRequest): Exchange {
  const { ask, idSeed } = request;
  const tools = registerTools(ask.body['tools']);
  const client = startOf(ask, idSeed, tools);
  const start = startGemini(client.frame.identity.id, ask.model);
  return exchangeOf(request, {
    body: chatBody(toChatBody(ask.body, tools), request),
    whole: (message, usage) => wholeResponse(message, client, usage),
    translation: {
      ...RESPONSE_FORMAT,
      initial: { gemini: start, client },
      ...through((state, event) => foldResponse(state, [event]), finishResponse),
      failure: (state, body) => failResponse(state.client, body),
    },
    start,
  });
}

/** Throws `InvalidRequest` for what Gemini has no words for. */
export const checkGemini = {
  messages: (body: JsonRecord, upstreamModel: string) =>
    messagesBody(body, { upstreamModel, outputLimit: null }),
  chat: (body: JsonRecord, upstreamModel: string) =>
    chatBody(body, { upstreamModel, outputLimit: null }),
  responses: (body: JsonRecord, upstreamModel: string) =>
    chatBody(chatBodyOf(body), { upstreamModel, outputLimit: null }),
};

function messagesBody(body: JsonRecord, limits: Limits): JsonRecord {
  return toGeminiRequest(body, { ...limits, signatures: signatureIn });
}

function chatBody(body: JsonRecord, limits: Limits): JsonRecord {
  const request = toGeminiRequest(toMessagesRequest(body, limits), {
    ...limits,
    signatures: chatSignatures(body),
  });
  return withChatSettings(request, body);
}

interface Through<Client> {
  gemini: GeminiState;
  client: Client;
}

/** Gemini -> messages events -> the client's events. */
function through<Client>(
  step: (state: Client, event: JsonRecord) => readonly [Client, readonly JsonRecord[]],
  finish: StreamTranslation<Client>['finish'],
): Pick<StreamTranslation<Through<Client>>, 'step' | 'finish'> {
  const pass = (client: Client, events: readonly JsonRecord[]): [Client, JsonRecord[]] => {
    let next = client;
    const passed = events.flatMap((event) => {
      const [after, more] = step(next, event);
      next = after;
      return more;
    });
    return [next, passed];
  };
  return {
    step: (state, event) => {
      const [gemini, events] = geminiStep(state.gemini, event);
      const [client, passed] = pass(state.client, events);
      return [{ gemini, client }, passed];
    },
    finish: (state, end) => {
      const [client, passed] = pass(state.client, finishGemini(state.gemini, end));
      return [...passed, ...finish(client, end)];
    },
  };
}

function exchangeOf<S>(
  { ask, upstreamModel, idSeed }: ExchangeRequest,
  {
    body,
    whole,
    translation,
    start,
  }: {
    body: JsonRecord;
    whole: (message: JsonRecord, usage: TokenUsage | null) => JsonRecord;
    translation: StreamTranslation<S>;
    start: GeminiState;
  },
): Exchange {
  const protocol: ClientProtocol = ask.protocol;
  const answers = geminiAnswers;
  return {
    path: geminiPath(
      upstreamModel,
      ask.isStream ? 'streamGenerateContent?alt=sse' : 'generateContent',
    ),
    requestBody: jsonBytes(body),
    requestHeaders: {},
    readJson: (bytes) =>
      readJson(bytes, answers, (answer, usage) =>
        jsonBytes(whole(toGeminiMessage(answer, start, usage), usage)),
      ),
    openStream: (sink) =>
      new EventStreamReader(new TranslatedStream({ protocol, answers, translation, idSeed, sink })),
  };
}

/** A model is named with or without its collection. */
export function geminiPath(model: string, method: string): string {
  return `/models/${encodeURIComponent(model.replace(/^models\//, ''))}:${method}`;
}
