/**
 * The protocols that upstreams speak. A further one takes its line here, its file in libs/protocols/src/providers, which `PROVIDERS` there names, and a
 * migration of the constraint on upstreams.protocol.
 */
export const UPSTREAM_PROTOCOLS = ['openai', 'anthropic'] as const;
export type UpstreamProtocol = (typeof UPSTREAM_PROTOCOLS)[number];

/** Protocols that have embeddings. */
const EMBEDDING_PROTOCOLS: ReadonlySet<UpstreamProtocol> = new Set(['openai']);

export function hasEmbeddings(protocol: UpstreamProtocol): boolean {
  return EMBEDDING_PROTOCOLS.has(protocol);
}

/** Endpoints that only some servers of the openai protocol have. An upstream that has one gets the requests of that endpoint with their own bytes. */
export const FURTHER_ENDPOINTS = ['responses', 'completions'] as const;
export type FurtherEndpoint = (typeof FURTHER_ENDPOINTS)[number];

const FURTHER_ENDPOINT_PROTOCOLS: ReadonlySet<UpstreamProtocol> = new Set(['openai']);

export function hasFurtherEndpoints(protocol: UpstreamProtocol): boolean {
  return FURTHER_ENDPOINT_PROTOCOLS.has(protocol);
}

/** The hosts at which the vendor of a protocol serves it. They refuse or ignore fields that the vendor does not define. OpenAI's regions have hosts of their own. */
const VENDORS_HOSTS: Readonly<Partial<Record<UpstreamProtocol, readonly string[]>>> = {
  openai: ['api.openai.com', 'eu.api.openai.com', 'us.api.openai.com'],
  anthropic: ['api.anthropic.com'],
};

/** Is true for an address of the vendor itself; at any other there may be a gateway, or a server with fields of its own. */
export function isVendorsOwn(protocol: UpstreamProtocol, baseUrl: string): boolean {
  const { hostname, protocol: scheme } = new URL(baseUrl);
  return scheme === 'https:' && (VENDORS_HOSTS[protocol] ?? []).includes(hostname);
}
