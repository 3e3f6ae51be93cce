import { NO_USAGE, type TokenUsage } from '@tollgate/contracts';
import { readJson } from '../answers/read-json.ts';
import { toCompletion } from '../chat-to-messages/completion-back.ts';
import { toMessagesRequest } from '../chat-to-messages/request.ts';
import { chunkStep, finishChunks, startChunks } from '../chat-to-messages/stream-back.ts';
import type { Exchange, ExchangeRequest } from '../exchange.ts';
import { jsonBytes, text, type JsonRecord } from '../json/json-guard.ts';
import { foldResponse, RESPONSE_FORMAT, startOf, wholeResponse } from '../responses/exchange.ts';
import { chatBodyOf, toChatBody } from '../responses/request.ts';
import { failResponse, finishResponse } from '../responses/stream-back.ts';
import { registerTools } from '../responses/tool-registry.ts';
import { COMMENT_EVENT, dataEvent, DONE_EVENT, namedEvent, PING_EVENT } from '../sse/sse-format.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { madeIdentity } from '../stream/made-identity.ts';
import { TranslatedStream, type StreamTranslation } from '../translation/translated-stream.ts';
import type { Limits, MessagesDialect } from './dialect.ts';
import { wholeMessage } from './whole-message.ts';

interface Translated {
  readonly create: (request: ExchangeRequest) => Exchange;
  readonly isNative: false;
  readonly check: (body: JsonRecord, upstreamModel: string) => JsonRecord;
}

/** Returns the exchanges of an upstream that is translated through messages, by the client's protocol. */
export function throughMessages<State>(
  dialect: MessagesDialect<State>,
): Record<'chat' | 'messages' | 'responses', Translated> {
  const fromMessages = (body: JsonRecord, limits: Limits) =>
    dialect.request(body, { ...limits, chat: null });
  const fromChat = (body: JsonRecord, limits: Limits) =>
    dialect.request(toMessagesRequest(body, limits), { ...limits, chat: body });
  const entry = (
    create: (request: ExchangeRequest) => Exchange,
    check: (body: JsonRecord, limits: Limits) => JsonRecord,
  ): Translated => ({
    create,
    isNative: false,
    check: (body, upstreamModel) => check(body, { upstreamModel, outputLimit: null }),
  });
  return {
    messages: entry(
      (request) => messagesClient(request, dialect, fromMessages(request.ask.body, request)),
      fromMessages,
    ),
    chat: entry(
      (request) => chatClient(request, dialect, fromChat(request.ask.body, request)),
      fromChat,
    ),
    responses: entry(
      (request) => responsesClient(request, dialect, fromChat),
      (body, limits) => fromChat(chatBodyOf(body), limits),
    ),
  };
}

function messagesClient<State>(
  request: ExchangeRequest,
  dialect: MessagesDialect<State>,
  body: JsonRecord,
): Exchange {
  const start = dialect.start(madeIdentity('msg_', request.idSeed).id, request.ask.model);
  return exchangeOf(request, dialect, {
    body,
    start,
    whole: (message) => message,
    translation: {
      initial: start,
      step: dialect.step,
      finish: dialect.finish,
      failure: (_, error) => error,
      format: (event) => namedEvent({ ...event, type: text(event['type']) ?? '' }),
      trailer: '',
      keepAlive: PING_EVENT,
    },
  });
}

function chatClient<State>(
  request: ExchangeRequest,
  dialect: MessagesDialect<State>,
  body: JsonRecord,
): Exchange {
  const { ask, idSeed } = request;
  const identity = madeIdentity('chatcmpl-', idSeed);
  const start = dialect.start(identity.id, ask.model);
  return exchangeOf(request, dialect, {
    body,
    start,
    whole: (message, usage) =>
      toCompletion(message, { identity, model: ask.model, usage: usage ?? NO_USAGE }),
    translation: {
      initial: { upstream: start, client: startChunks(identity, ask.model) },
      ...composed(dialect, chunkStep, (state, end) =>
        finishChunks(state, { ...end, wantsUsage: ask.wantsStreamUsage }),
      ),
      failure: (_, error) => error,
      format: dataEvent,
      trailer: DONE_EVENT,
      keepAlive: COMMENT_EVENT,
    },
  });
}

function responsesClient<State>(
  request: ExchangeRequest,
  dialect: MessagesDialect<State>,
  bodyOf: (chat: JsonRecord, limits: Limits) => JsonRecord,
): Exchange {
  const { ask, idSeed } = request;
  const tools = registerTools(ask.body['tools']);
  const client = startOf(ask, idSeed, tools);
  const start = dialect.start(client.frame.identity.id, ask.model);
  return exchangeOf(request, dialect, {
    body: bodyOf(toChatBody(ask.body, tools), request),
    start,
    whole: (message, usage) => wholeResponse(message, client, usage),
    translation: {
      ...RESPONSE_FORMAT,
      initial: { upstream: start, client },
      ...composed(dialect, (state, event) => foldResponse(state, [event]), finishResponse),
      failure: (state, error) => failResponse(state.client, error),
    },
  });
}

interface Composed<State, Client> {
  upstream: State;
  client: Client;
}

/** Chains two translations: the upstream's events to messages events, and those to the client's. */
function composed<State, Client>(
  dialect: MessagesDialect<State>,
  step: (state: Client, event: JsonRecord) => readonly [Client, readonly JsonRecord[]],
  finish: StreamTranslation<Client>['finish'],
): Pick<StreamTranslation<Composed<State, Client>>, 'step' | 'finish'> {
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
      const [upstream, events] = dialect.step(state.upstream, event);
      const [client, passed] = pass(state.client, events);
      return [{ upstream, client }, passed];
    },
    finish: (state, end) => {
      const [client, passed] = pass(state.client, dialect.finish(state.upstream, end));
      return [...passed, ...finish(client, end)];
    },
  };
}

function exchangeOf<State, S>(
  { ask, upstreamModel, idSeed }: ExchangeRequest,
  dialect: MessagesDialect<State>,
  {
    body,
    start,
    whole,
    translation,
  }: {
    body: JsonRecord;
    start: State;
    whole: (message: JsonRecord, usage: TokenUsage | null) => JsonRecord;
    translation: StreamTranslation<S>;
  },
): Exchange {
  const { protocol, isStream } = ask;
  const { answers } = dialect;
  return {
    path: dialect.path(upstreamModel, isStream),
    requestBody: jsonBytes(body),
    requestHeaders: { ...(isStream && dialect.streamHeaders) },
    readJson: (bytes) =>
      readJson(bytes, answers, (answer, usage) =>
        jsonBytes(whole(wholeMessage(answer, dialect, { start, usage }), usage)),
      ),
    openStream: (sink) =>
      new EventStreamReader(
        new TranslatedStream({ protocol, answers, translation, idSeed, sink }),
        dialect.openFramer?.(),
      ),
  };
}
