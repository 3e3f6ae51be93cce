import { chatToMessagesExchange } from '../chat-to-messages/exchange.ts';
import { toMessagesRequest } from '../chat-to-messages/request.ts';
import type { Exchange, ExchangeRequest } from '../exchange.ts';
import { layoutObject } from '../json/json-layout.ts';
import { applyPatches, editObject } from '../json/json-splice.ts';
import { responsesToMessagesExchange } from '../responses/exchange.ts';
import { chatBodyOf } from '../responses/request.ts';
import { messagesExchange } from '../same-protocol/messages-exchange.ts';
import type { EventFramer } from '../sse/sse-framer.ts';
import type { ProviderExchange } from './provider.ts';

/** A cloud serves Claude in its own way: the model is named by the path, and the version stands in the body. */
export interface ClaudeHost {
  /** Is `anthropic_version` of the body, in place of Anthropic's first. */
  readonly version: string;
  /** Later versions are named as Anthropic names them. */
  readonly hasLaterVersions?: true;
  path(model: string, isStream: boolean): string;
  /** Lists the fields of the body, beside the model, that the path states instead. */
  readonly left: readonly string[];
  readonly betasIn: 'body' | 'headers';
  readonly streamHeaders?: Readonly<Record<string, string>>;
  /** Is absent where streams are server-sent events. */
  readonly openFramer?: () => EventFramer;
}

type Client = 'chat' | 'messages' | 'responses';

/** Claude speaks messages with its own bytes, wherever it is hosted. */
export function claudeOf(host: ClaudeHost): Record<Client, ProviderExchange> {
  const at = (create: ProviderExchange['create']) => (request: ExchangeRequest) =>
    hosted(create(request), request, host);
  return {
    messages: { create: at(messagesExchange), isNative: true },
    chat: {
      create: at(chatToMessagesExchange),
      isNative: false,
      check: (body, upstreamModel) => toMessagesRequest(body, { upstreamModel, outputLimit: null }),
    },
    responses: {
      create: at(responsesToMessagesExchange),
      isNative: false,
      check: (body, upstreamModel) =>
        toMessagesRequest(chatBodyOf(body), { upstreamModel, outputLimit: null }),
    },
  };
}

/** Makes one exchange for each client, by the name of the model. None is native, as the upstream has models that do not speak messages. */
export function byModel<Client extends string>(
  isClaude: (model: string) => boolean,
  claude: Record<Client, ProviderExchange>,
  other: Record<Client, ProviderExchange>,
): Record<Client, ProviderExchange> {
  const either = (client: Client): ProviderExchange => {
    const of = (model: string): ProviderExchange => (isClaude(model) ? claude : other)[client];
    return {
      create: (request) => of(request.upstreamModel).create(request),
      isNative: false,
      check: (body, model, ask) => of(model).check?.(body, model, ask),
    };
  };
  const clients = Object.keys(claude) as Client[];
  return Object.fromEntries(clients.map((client) => [client, either(client)])) as Record<
    Client,
    ProviderExchange
  >;
}

function hosted(
  exchange: Exchange,
  { ask, upstreamModel }: ExchangeRequest,
  host: ClaudeHost,
): Exchange {
  return {
    ...exchange,
    path: host.path(upstreamModel, ask.isStream),
    requestBody: bodyFor(exchange, host),
    requestHeaders: {
      ...(ask.isStream && host.streamHeaders),
      ...(host.betasIn === 'headers' && betaHeader(exchange)),
    },
    openStream: (sink) => exchange.openStream(sink, host.openFramer?.()),
  };
}

const FIRST_VERSION = '2023-06-01';

function versionFor({ requestHeaders }: Exchange, host: ClaudeHost): string {
  const asked = requestHeaders['anthropic-version'] ?? FIRST_VERSION;
  return host.hasLaterVersions && asked !== FIRST_VERSION ? asked : host.version;
}

function betasOf({ requestHeaders }: Exchange): string[] {
  return (requestHeaders['anthropic-beta'] ?? '')
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '');
}

function betaHeader(exchange: Exchange): Record<string, string> {
  const betas = betasOf(exchange).join(',');
  return betas === '' ? {} : { 'anthropic-beta': betas };
}

function bodyFor(exchange: Exchange, host: ClaudeHost): Uint8Array {
  const { requestBody } = exchange;
  const layout = layoutObject(requestBody, 0);
  if (!layout) throw new Error('a request body is a JSON object');
  const betas = host.betasIn === 'body' ? betasOf(exchange) : [];
  return applyPatches(
    requestBody,
    editObject(layout, {
      ...Object.fromEntries(['model', ...host.left].map((field) => [field, null])),
      anthropic_version: JSON.stringify(versionFor(exchange, host)),
      ...(betas.length > 0 && { anthropic_beta: JSON.stringify(betas) }),
    }),
  );
}
