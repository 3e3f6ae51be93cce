import type { Exchange, ExchangeRequest, Speech } from '../exchange.ts';
import { openai } from './openai.ts';
import { keyOf, tokenOf, type Provider, type ProviderExchange } from './provider.ts';

/** Is the version of one of the two older interfaces: https://learn.microsoft.com/en-us/azure/ai-foundry/openai/api-version-lifecycle. */
const DEPLOYMENTS_VERSION = '2024-10-21';
const MODELS_VERSION = '2024-05-01-preview';

/**
 * Serves Azure OpenAI and the models of Foundry: OpenAI's protocol with another key header. An address that ends in `/v1` has the model in the body, as OpenAI has it;
 * one that ends in `/models` states a version; any other has the deployment in its path, too.
 */
export const azure: Provider = {
  ...openai,
  // Azure lists what it offers, and not the deployments that a resource has.
  models: null,
  sign: (_, signing) =>
    signing.auth.type === 'azure'
      ? { authorization: `Bearer ${tokenOf(signing)}` }
      : { 'api-key': keyOf(signing) },
  exchanges: eachAt(openai.exchanges),
  further: eachAt(openai.further ?? {}),
  probe: (model, kind, speech) => {
    const probe = openai.probe(model, kind, speech);
    return probe && { ...probe, path: azurePath(probe.path, { model, speech }) };
  },
};

function eachAt<Name extends string>(
  exchanges: Readonly<Partial<Record<Name, ProviderExchange>>>,
): Readonly<Partial<Record<Name, ProviderExchange>>> {
  const moved: Partial<Record<Name, ProviderExchange>> = {};
  for (const name in exchanges) {
    const exchange = exchanges[name];
    if (exchange)
      moved[name] = { ...exchange, create: (request) => placed(exchange.create(request), request) };
  }
  return moved;
}

function placed(exchange: Exchange, { upstreamModel: model, speech }: ExchangeRequest): Exchange {
  return { ...exchange, path: azurePath(exchange.path, { model, speech }) };
}

function azurePath(path: string, { model, speech }: { model: string; speech: Speech }): string {
  const { pathname } = new URL(speech.base_url ?? 'https://azure/v1');
  const base = pathname.replace(/\/+$/, '');
  if (base.endsWith('/v1')) return path;
  if (base.endsWith('/models')) return `${path}?api-version=${MODELS_VERSION}`;
  return `/deployments/${encodeURIComponent(model)}${path}?api-version=${DEPLOYMENTS_VERSION}`;
}
