import { chatToMessagesExchange } from './chat-to-messages/exchange.ts';
import { toMessagesRequest } from './chat-to-messages/request.ts';
import { InvalidRequest } from './exchange.ts';
import type {
  Ask,
  ClientProtocol,
  Exchange,
  ExchangeRequest,
  UpstreamDialect,
} from './exchange.ts';
import { messagesToChatExchange } from './messages-to-chat/exchange.ts';
import { toChatRequest } from './messages-to-chat/request.ts';
import { responsesToChatExchange, responsesToMessagesExchange } from './responses/exchange.ts';
import { toChatBody } from './responses/request.ts';
import { registerTools } from './responses/tool-registry.ts';
import { chatExchange } from './same-protocol/chat-exchange.ts';
import { embeddingsExchange } from './same-protocol/embeddings-exchange.ts';
import { messagesExchange } from './same-protocol/messages-exchange.ts';

type Pair = `${ClientProtocol}>${UpstreamDialect}`;

const EXCHANGES: Partial<Record<Pair, (request: ExchangeRequest) => Exchange>> = {
  'chat>openai': chatExchange,
  'chat>anthropic': chatToMessagesExchange,
  'messages>openai': messagesToChatExchange,
  'messages>anthropic': messagesExchange,
  'embeddings>openai': embeddingsExchange,
  'responses>openai': responsesToChatExchange,
  'responses>anthropic': responsesToMessagesExchange,
};

/** Whether a model behind this dialect can serve this endpoint at all. */
export function canExchange(protocol: ClientProtocol, dialect: UpstreamDialect): boolean {
  return EXCHANGES[`${protocol}>${dialect}`] !== undefined;
}

/** Throws `InvalidRequest` naming the feature when the request asks for something the upstream's protocol has no words for. */
export function createExchange(request: ExchangeRequest): Exchange {
  const create = EXCHANGES[`${request.ask.protocol}>${request.dialect}`];
  if (!create)
    throw new InvalidRequest(`This model cannot be called through ${request.ask.protocol}.`, {
      param: 'model',
      code: 'unsupported_endpoint',
    });
  return create(request);
}

type Body = Ask['body'];
const responsesBody = (body: Body): Body => toChatBody(body, registerTools(body['tools']));

/** The part of a translation that may find no words; pairs of one protocol pass every request on. */
const TRANSLATIONS: Partial<Record<Pair, (body: Body, upstreamModel: string) => unknown>> = {
  'chat>anthropic': (body, upstreamModel) =>
    toMessagesRequest(body, { upstreamModel, outputLimit: null }),
  'messages>openai': (body, upstreamModel) =>
    toChatRequest(body, { upstreamModel, outputLimit: null, outputLimitField: 'max_tokens' }),
  'responses>openai': responsesBody,
  'responses>anthropic': (body, upstreamModel) =>
    toMessagesRequest(responsesBody(body), { upstreamModel, outputLimit: null }),
};

/** What `createExchange` would throw for this upstream, before anything is held or sent for the request; null when it can be carried. Serialises nothing. */
export function findUnsupported(
  ask: Ask,
  { dialect, upstreamModel }: Pick<ExchangeRequest, 'dialect' | 'upstreamModel'>,
): InvalidRequest | null {
  try {
    TRANSLATIONS[`${ask.protocol}>${dialect}`]?.(ask.body, upstreamModel);
    return null;
  } catch (error) {
    if (error instanceof InvalidRequest) return error;
    throw error;
  }
}
