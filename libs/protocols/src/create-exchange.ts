import { chatToMessagesExchange } from './chat-to-messages/exchange.ts';
import { InvalidRequest } from './exchange.ts';
import type { ClientProtocol, Exchange, ExchangeRequest, UpstreamDialect } from './exchange.ts';
import { messagesToChatExchange } from './messages-to-chat/exchange.ts';
import { responsesToChatExchange, responsesToMessagesExchange } from './responses/exchange.ts';
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
  if (!create) throw new InvalidRequest(`This model cannot be called through ${request.ask.protocol}.`, { param: 'model', code: 'unsupported_endpoint' });
  return create(request);
}
