/**
 * The protocols that upstreams speak. A further one takes its line here, its file in libs/protocols/src/providers, which `PROVIDERS` there names, and a
 * migration of the constraint on upstreams.protocol.
 */
export const UPSTREAM_PROTOCOLS = ['openai', 'anthropic', 'azure', 'gemini'] as const;
export type UpstreamProtocol = (typeof UPSTREAM_PROTOCOLS)[number];

/** The protocols of the first release: a node of every release speaks them. */
const FIRST_PROTOCOLS: ReadonlySet<string> = new Set(['openai', 'anthropic']);

/** The ability of a node to speak a protocol. */
export function speaksAbility(protocol: UpstreamProtocol): `speaks_${UpstreamProtocol}` {
  return `speaks_${protocol}`;
}

/** Is true for a protocol that no node refuses: those of the first release, and those that every node has reported to speak. */
export function isSpoken(protocol: UpstreamProtocol, reported: readonly string[]): boolean {
  return FIRST_PROTOCOLS.has(protocol) || reported.includes(protocol);
}

/** Protocols that have embeddings. */
const EMBEDDING_PROTOCOLS: ReadonlySet<UpstreamProtocol> = new Set(['openai', 'azure']);

export function hasEmbeddings(protocol: UpstreamProtocol): boolean {
  return EMBEDDING_PROTOCOLS.has(protocol);
}

/** Endpoints that only some servers of the openai protocol have. An upstream that has one gets the requests of that endpoint with their own bytes. */
export const FURTHER_ENDPOINTS = ['responses', 'completions'] as const;
export type FurtherEndpoint = (typeof FURTHER_ENDPOINTS)[number];

const FURTHER_ENDPOINT_PROTOCOLS: ReadonlySet<UpstreamProtocol> = new Set(['openai', 'azure']);

export function hasFurtherEndpoints(protocol: UpstreamProtocol): boolean {
  return FURTHER_ENDPOINT_PROTOCOLS.has(protocol);
}

/** Each resource has a host of its own below these. */
const AZURE_HOSTS = ['.openai.azure.com', '.services.ai.azure.com', '.cognitiveservices.azure.com'];

/** The hosts at which the vendor of a protocol serves it. They refuse or ignore fields that the vendor does not define. OpenAI's regions have hosts of their own; a name with a leading dot is that of all hosts below it. */
const VENDORS_HOSTS: Readonly<Partial<Record<UpstreamProtocol, readonly string[]>>> = {
  openai: ['api.openai.com', 'eu.api.openai.com', 'us.api.openai.com'],
  anthropic: ['api.anthropic.com'],
  azure: AZURE_HOSTS,
  gemini: ['generativelanguage.googleapis.com'],
};

/** Is true for an address of the vendor itself; at any other there may be a gateway, or a server with fields of its own. */
export function isVendorsOwn(protocol: UpstreamProtocol, baseUrl: string): boolean {
  const { hostname, protocol: scheme } = new URL(baseUrl);
  return (
    scheme === 'https:' &&
    (VENDORS_HOSTS[protocol] ?? []).some((host) =>
      host.startsWith('.') ? hostname.endsWith(host) : hostname === host,
    )
  );
}
