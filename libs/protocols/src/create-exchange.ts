import type { UpstreamProtocol } from '@tollgate/contracts';
import { InvalidRequest } from './exchange.ts';
import type { Ask, ClientProtocol, Exchange, ExchangeRequest } from './exchange.ts';
import { PROVIDERS } from './providers/registry.ts';

/** Whether a model behind such an upstream can serve this endpoint at all. */
export function canExchange(protocol: ClientProtocol, upstreamProtocol: UpstreamProtocol): boolean {
  return PROVIDERS[upstreamProtocol].exchanges[protocol] !== undefined;
}

/** Whether requests of this protocol reach such an upstream with their own bytes. */
export function isNative(protocol: ClientProtocol, upstreamProtocol: UpstreamProtocol): boolean {
  return PROVIDERS[upstreamProtocol].exchanges[protocol]?.isNative ?? false;
}

/** Throws `InvalidRequest` naming the feature when the request asks for something the upstream's protocol has no words for. */
export function createExchange(request: ExchangeRequest): Exchange {
  const exchange = PROVIDERS[request.upstreamProtocol].exchanges[request.ask.protocol];
  if (!exchange)
    throw new InvalidRequest(`This model cannot be called through ${request.ask.protocol}.`, {
      param: 'model',
      code: 'unsupported_endpoint',
    });
  return exchange.create(request);
}

/** What `createExchange` would throw for this upstream, before anything is held or sent for the request; null when it can be carried. Serialises nothing. */
export function findUnsupported(
  ask: Ask,
  { upstreamProtocol, upstreamModel }: Pick<ExchangeRequest, 'upstreamProtocol' | 'upstreamModel'>,
): InvalidRequest | null {
  try {
    PROVIDERS[upstreamProtocol].exchanges[ask.protocol]?.check?.(ask.body, upstreamModel);
    return null;
  } catch (error) {
    if (error instanceof InvalidRequest) return error;
    throw error;
  }
}
