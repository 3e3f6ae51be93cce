import { InvalidRequest } from '../exchange.ts';
import type {
  Ask,
  ClientProtocol,
  CountAsk,
  CountExchange,
  Exchange,
  ExchangeRequest,
  Speech,
  StoredIds,
} from '../exchange.ts';
import { embedThrough } from './embed-exchange.ts';
import type { ProviderExchange } from './provider.ts';
import { PROVIDERS } from './registry.ts';
import { generateCount, generateThroughChat } from '../generate/exchange.ts';
import { withPromptCache } from '../translation/prompt-cache.ts';
import { messagesCount } from '../same-protocol/messages-exchange.ts';
import { responsesCount } from '../same-protocol/responses-exchange.ts';
import { refuseThread } from '../stored/threads.ts';

/** Returns whether a model behind such an upstream can serve this endpoint at all. */
export function canExchange(protocol: ClientProtocol, speech: Speech): boolean {
  return exchangeFor(protocol, speech) !== undefined;
}

/** Returns whether requests of this protocol reach such an upstream with their own bytes. */
export function isNative(protocol: ClientProtocol, speech: Speech): boolean {
  return exchangeFor(protocol, speech)?.isNative ?? false;
}

/** Returns whether an upstream continues an answer natively from a message that has its beginning. */
export function takesPrefill(
  { protocol }: Pick<Speech, 'protocol'>,
  { upstream_model: model }: { readonly upstream_model: string },
): boolean {
  return PROVIDERS[protocol].continuesPrefill?.(model) ?? false;
}

/** Throws `InvalidRequest` naming the feature when the request asks for something the upstream's protocol has no words for. */
export function createExchange(request: ExchangeRequest): Exchange {
  const { ask, speech } = request;
  const exchange = exchangeFor(ask.protocol, speech);
  if (!exchange) throw notCallable(ask.protocol);
  refuseCompaction(ask, exchange);
  refuseThread(ask, speech);
  const created = exchange.create(request);
  const { caching } = request;
  if (!caching) return created;
  const { path, requestBody } = created;
  return { ...created, requestBody: withPromptCache(requestBody, { ask, path, caching }) };
}

/** Returns what `createExchange` would throw for this upstream, before anything is held or sent for the request; null when it can be carried. Serialises nothing. */
export function findUnsupported(
  ask: Ask,
  { speech, upstreamModel }: Pick<ExchangeRequest, 'speech' | 'upstreamModel'>,
): InvalidRequest | null {
  try {
    const exchange = exchangeFor(ask.protocol, speech);
    if (exchange) refuseCompaction(ask, exchange);
    refuseThread(ask, speech);
    exchange?.check?.(ask.body, upstreamModel, ask);
    return null;
  } catch (error) {
    if (error instanceof InvalidRequest) return error;
    throw error;
  }
}

/** No other protocol has words for it. */
function refuseCompaction({ isCompaction }: Ask, { isNative }: ProviderExchange): void {
  if (isCompaction && !isNative) throw notCallable('responses/compact');
}

function notCallable(endpoint: string): InvalidRequest {
  return new InvalidRequest(`This model cannot be called through ${endpoint}.`, {
    param: 'model',
    code: 'unsupported_endpoint',
  });
}

/** Counts at an upstream that counts by itself. */
export function countExchange(
  ask: CountAsk,
  request: Pick<ExchangeRequest, 'upstreamModel' | 'clientHeaders' | 'dropped'> & {
    ids: StoredIds;
  },
): CountExchange {
  if (ask.protocol === 'generate') return generateCount(ask, request);
  return ask.protocol === 'messages' ? messagesCount(ask, request) : responsesCount(ask, request);
}

/** A client of Gemini reaches every upstream that chat, or embeddings, reaches. */
function exchangeFor(protocol: ClientProtocol, speech: Speech): ProviderExchange | undefined {
  const own = ownExchange(protocol, speech);
  const twin = TWINS[protocol];
  if (own || !twin) return own;
  const exchange = ownExchange(twin.protocol, speech);
  return exchange && twin.through(exchange);
}

const TWINS: Partial<
  Record<
    ClientProtocol,
    { protocol: ClientProtocol; through: (exchange: ProviderExchange) => ProviderExchange }
  >
> = {
  generate: { protocol: 'chat', through: generateThroughChat },
  embed: { protocol: 'embeddings', through: embedThrough },
};

/** An endpoint that the upstream has itself goes before a translation. */
function ownExchange(
  protocol: ClientProtocol,
  { protocol: spoken, endpoints = [] }: Speech,
): ProviderExchange | undefined {
  const { exchanges, further = {} } = PROVIDERS[spoken];
  const own = endpoints.find((endpoint) => endpoint === protocol);
  return (own === undefined ? undefined : further[own]) ?? exchanges[protocol];
}
