import ipaddr from 'ipaddr.js';

/**
 * Describes where the product may connect to on a user's request (security S1-S5). It applies to upstream base URLs when they are saved and to each
 * address that a node dials, so that a name that resolves elsewhere later (DNS rebinding) meets the same rule.
 */
export interface OutboundPolicy {
  /** Holds the ranges of UPSTREAM_ALLOW_PRIVATE. Every other address that is not public is refused. */
  readonly allowPrivate: readonly AddressRange[];
}
type AddressRange = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

export type BaseUrlVerdict = { kind: 'ok'; baseUrl: string } | { kind: 'refused'; reason: string };

const URL_CHARS_MAX = 2048;
const RULES = {
  length: `must not be longer than ${URL_CHARS_MAX} characters`,
  characters: 'must be printable ASCII without spaces',
  absolute: 'must be an absolute URL',
  encrypted: 'must use https',
  credentials: 'must not carry a user name or password',
  suffix: 'must have neither query nor fragment',
  host: 'the host must be written in its plain form',
  address:
    'leads to a private, local or reserved address that UPSTREAM_ALLOW_PRIVATE does not name',
  port: 'no model provider answers on port',
};
/** Lists the reasons for refusing a base URL. A message begins with one of these. */
export const BASE_URL_RULES: readonly string[] = Object.values(RULES);

/** These ports belong to services that are never a model provider; an operator's range must not open them. */
const REFUSED_PORTS: ReadonlySet<number> = new Set([
  1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5672, 6379, 6380, 8500, 9042,
  9092, 9200, 11211, 26379, 27017,
]);
const WEB_PORTS: ReadonlySet<number> = new Set([80, 443]);
const PRIVILEGED_PORT_MAX = 1023;
/** Azure's metadata host has a public address. */
const AZURE_WIRE_SERVER = '168.63.129.16';
const GLOBAL_UNICAST = ipaddr.parse('2000::');

/** Parses a comma-separated list of CIDR ranges or single addresses. Throws an Error naming the entry that is neither. */
export function parseOutboundPolicy(text: string): OutboundPolicy {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  return { allowPrivate: entries.map(parseRange) };
}

/**
 * Returns whether this address may be dialled. Only public unicast addresses pass, unless a range of the policy contains the address; unencrypted
 * connections pass only inside such a range, because a key travels with every request. A text that is not an address is refused.
 */
export function isAddressAllowed(
  address: string,
  policy: OutboundPolicy,
  { isEncrypted }: { isEncrypted: boolean },
): boolean {
  const parsed = canonicalAddress(address);
  if (!parsed) return false;
  return isInRanges(parsed, policy.allowPrivate) || (isEncrypted && isPublic(parsed));
}

/**
 * Checks a URL that someone wants us to call and returns its canonical text without a trailing slash. The host must be written as the URL parser
 * reads it: `0x7f.1`, `127.0.0.1.` or a look-alike in another script are refused.
 */
export function checkBaseUrl(text: string, policy: OutboundPolicy): BaseUrlVerdict {
  if (text.length > URL_CHARS_MAX) return refused(RULES.length);
  // The URL parser would silently drop tabs and newlines, and turn other scripts into punycode.
  if (!/^[\x21-\x7e]+$/.test(text)) return refused(RULES.characters);
  const url = URL.parse(text);
  if (!url) return refused(RULES.absolute);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused(RULES.encrypted);
  if (url.username !== '' || url.password !== '' || text.includes('@'))
    return refused(RULES.credentials);
  if (url.search !== '' || url.hash !== '' || /[?#\\]/.test(text)) return refused(RULES.suffix);
  const reason = hostRefusal(url, text, policy) ?? portRefusal(url);
  if (reason !== undefined) return refused(reason);
  return { kind: 'ok', baseUrl: url.href.replace(/\/+$/, '') };
}

function hostRefusal(url: URL, text: string, policy: OutboundPolicy): string | undefined {
  const written = /^https?:\/\/(\[[^\]]*\]|[^/:]*)/i.exec(text)?.[1]?.toLowerCase();
  if (written !== url.hostname || url.hostname.endsWith('.'))
    return `${RULES.host}, "${url.hostname.replace(/\.+$/, '')}"`;
  const isEncrypted = url.protocol === 'https:';
  const literal = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (ipaddr.isValid(literal)) {
    if (isAddressAllowed(literal, policy, { isEncrypted })) return undefined;
    return isAddressAllowed(literal, policy, { isEncrypted: true })
      ? RULES.encrypted
      : RULES.address;
  }
  if (
    /^(.*\.)?localhost$/.test(url.hostname) &&
    !isAddressAllowed('127.0.0.1', policy, { isEncrypted }) &&
    !isAddressAllowed('::1', policy, { isEncrypted })
  ) {
    return RULES.address;
  }
  // The address of a name is checked when it is dialled. Without a private range no unencrypted address could pass there.
  return isEncrypted || policy.allowPrivate.length > 0 ? undefined : RULES.encrypted;
}

function portRefusal(url: URL): string | undefined {
  if (url.port === '') return undefined;
  const port = Number(url.port);
  const isRefused =
    REFUSED_PORTS.has(port) || (port <= PRIVILEGED_PORT_MAX && !WEB_PORTS.has(port));
  return isRefused ? `${RULES.port} ${port}` : undefined;
}

function parseRange(entry: string): AddressRange {
  try {
    if (entry.includes('/')) return ipaddr.parseCIDR(entry);
    const address = ipaddr.parse(entry);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    throw new Error(`"${entry}" is neither an address nor a CIDR range`);
  }
}

/** Returns `::ffff:10.0.0.1` as 10.0.0.1, which is the address that the operating system dials. */
function canonicalAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

function isInRanges(address: ipaddr.IPv4 | ipaddr.IPv6, ranges: readonly AddressRange[]): boolean {
  return ranges.some(
    ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
  );
}

/** IPv6 outside 2000::/3 is not global unicast, whatever a list of special ranges omits (RFC 4291, 2.4). */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4'
    ? address.toString() !== AZURE_WIRE_SERVER
    : address.match(GLOBAL_UNICAST, 3);
}

function refused(reason: string): BaseUrlVerdict {
  return { kind: 'refused', reason };
}
