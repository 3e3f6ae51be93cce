import { vertexAddressFault } from './vertex-address.ts';

/**
 * Lists the protocols that upstreams speak. A further one takes its line here and in `FACTS`, its file in libs/protocols/src/providers, which `PROVIDERS` there names, and a
 * migration of the constraint on upstreams.protocol.
 */
export const UPSTREAM_PROTOCOLS = [
  'openai',
  'anthropic',
  'azure',
  'gemini',
  'vertex',
  'bedrock',
] as const;
export type UpstreamProtocol = (typeof UPSTREAM_PROTOCOLS)[number];

interface ProtocolFacts {
  /** The first release speaks it, and so does a node of every release. */
  readonly isFirst?: true;
  readonly hasEmbeddings?: true;
  /** Lists `FURTHER_ENDPOINTS` that some servers of it have. */
  readonly furtherEndpoints?: readonly FurtherEndpoint[];
  /** Its addresses have no version segment. */
  readonly isUnversioned?: true;
  /** Matches the hosts at which the vendor serves it. They refuse or ignore fields that the vendor does not define. */
  readonly vendorsHosts: RegExp;
  /** Lists the kinds of credential that it takes, the usual one first; without it a key alone. */
  readonly auths?: readonly string[];
  /** Returns the fault of an address that cannot be one of it. */
  readonly addressFault?: (url: URL) => string | null;
}

/** Holds all facts about a protocol that the product needs without speaking it. */
const FACTS: Readonly<Record<UpstreamProtocol, ProtocolFacts>> = {
  openai: {
    isFirst: true,
    hasEmbeddings: true,
    furtherEndpoints: ['responses', 'completions'],
    // Regions have hosts of their own.
    vendorsHosts: /^(?:(?:eu|us)\.)?api\.openai\.com$/,
  },
  anthropic: {
    isFirst: true,
    furtherEndpoints: ['threads'],
    vendorsHosts: /^api\.anthropic\.com$/,
    // Claude on Foundry takes an identity of Entra.
    auths: ['api_key', 'azure'],
  },
  azure: {
    hasEmbeddings: true,
    furtherEndpoints: ['responses', 'completions'],
    // Each resource has a host of its own.
    vendorsHosts: /\.(?:openai\.azure|services\.ai\.azure|cognitiveservices\.azure)\.com$/,
    auths: ['api_key', 'azure'],
  },
  gemini: { hasEmbeddings: true, vendorsHosts: /^generativelanguage\.googleapis\.com$/ },
  vertex: {
    hasEmbeddings: true,
    // Each location has a host of its own.
    vendorsHosts: /^(?:[a-z0-9-]+-)?aiplatform(?:\.[a-z]+\.rep)?\.googleapis\.com$/,
    auths: ['google', 'api_key'],
    addressFault: vertexAddressFault,
  },
  bedrock: {
    isUnversioned: true,
    // Other hosts of the domain may be gateways of customers.
    vendorsHosts: /^bedrock-runtime(?:-fips)?\.[a-z0-9-]+\.amazonaws\.com$/,
    auths: ['aws', 'api_key'],
  },
};

/** Tests add a protocol that this table does not have. */
function factsOf(protocol: UpstreamProtocol): Partial<ProtocolFacts> {
  return Object.hasOwn(FACTS, protocol) ? FACTS[protocol] : {};
}

/** Returns the ability of a node to speak a protocol. */
export function speaksAbility(protocol: UpstreamProtocol): `speaks_${UpstreamProtocol}` {
  return `speaks_${protocol}`;
}

/** Returns true for a protocol that no node refuses: those of the first release, and those that every node has reported to speak. */
export function isSpoken(protocol: UpstreamProtocol, reported: readonly string[]): boolean {
  return factsOf(protocol).isFirst === true || reported.includes(protocol);
}

export function hasEmbeddings(protocol: UpstreamProtocol): boolean {
  return factsOf(protocol).hasEmbeddings === true;
}

/**
 * Names all that only some servers of a protocol have. An upstream with the endpoint of a client protocol gets its requests with their own bytes; one with `threads` keeps the
 * conversations of messages that ask for it.
 */
export const FURTHER_ENDPOINTS = ['responses', 'completions', 'threads'] as const;
export type FurtherEndpoint = (typeof FURTHER_ENDPOINTS)[number];

/** Returns the further endpoints that a server of this protocol may have. */
export function furtherEndpoints(protocol: UpstreamProtocol): readonly FurtherEndpoint[] {
  return factsOf(protocol).furtherEndpoints ?? [];
}

/** Returns true for a protocol at whose addresses a missing version segment is a mistake. */
export function isVersioned(protocol: UpstreamProtocol): boolean {
  return factsOf(protocol).isUnversioned !== true;
}

/** Returns the kinds of credential that a protocol takes, the usual one first. */
export function authsOf(protocol: UpstreamProtocol): readonly string[] {
  return factsOf(protocol).auths ?? ['api_key'];
}

/** Returns the fault of an address that no upstream of this protocol can have; null where there is none. */
export function addressFault(protocol: UpstreamProtocol, baseUrl: string): string | null {
  return factsOf(protocol).addressFault?.(new URL(baseUrl)) ?? null;
}

/** Returns true for an address of the vendor itself; at any other there may be a gateway, or a server with fields of its own. */
export function isVendorsOwn(protocol: UpstreamProtocol, baseUrl: string): boolean {
  const { hostname, protocol: scheme } = new URL(baseUrl);
  return scheme === 'https:' && factsOf(protocol).vendorsHosts?.test(hostname) === true;
}
