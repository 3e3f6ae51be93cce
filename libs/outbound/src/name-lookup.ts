import dns, { type LookupAddress } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { callbackify } from 'node:util';
import { OneByOne } from './one-by-one.ts';

/** Names the two files that the system's own resolver reads before it asks a server. */
export interface ResolverFiles {
  hosts: string;
  resolv: string;
}
interface Settings {
  hosts: ReadonlyMap<string, LookupAddress[]>;
  domains: readonly string[];
  dots: number;
}

const SYSTEM_FILES: ResolverFiles = { hosts: '/etc/hosts', resolv: '/etc/resolv.conf' };
const READ_AGAIN_MS = 5_000;
const DOMAINS_MAX = 6;
const DOTS_MAX = 15;

/**
 * Finds every address of a name without a thread. The system's `getaddrinfo` keeps a thread of the pool that Node shares until the DNS server
 * answers, and the owner of the name chooses that server: a few such names would keep PostgreSQL's and Redis' own lookups waiting.
 * Names in the hosts file come first, then DNS by c-ares with the search domains, as the system does. The system is asked for what neither knows
 * (mDNS, LDAP, a server that c-ares cannot read), one name at a time, so that one thread at most is kept.
 */
export class NameLookup {
  private readonly system = new OneByOne<LookupAddress[]>();
  private settings: Promise<Settings> | undefined;
  private readAt = 0;
  private servers: string | undefined;

  constructor(private readonly files = SYSTEM_FILES) {}

  /** Rejects with the code of the last one asked. It never resolves with an empty list. */
  async addresses(hostname: string): Promise<LookupAddress[]> {
    const family = isIP(hostname);
    if (family !== 0) return [{ address: hostname, family }];
    const name = hostname.toLowerCase().replace(/\.$/, '');
    const settings = await this.current();
    const listed = settings.hosts.get(name);
    if (listed) return listed;
    if (!isOfThisMachine(name)) {
      for (const candidate of candidates(hostname.toLowerCase(), settings)) {
        const found = await askDns(candidate);
        if (found.length > 0) return found;
      }
    }
    return this.system.run(name, () => dns.promises.lookup(name, { all: true }));
  }

  private current(): Promise<Settings> {
    const now = performance.now();
    if (!this.settings || now - this.readAt > READ_AGAIN_MS) {
      this.readAt = now;
      this.settings = this.read();
    }
    return this.settings;
  }

  private async read(): Promise<Settings> {
    const [hosts, resolv] = await Promise.all(
      [this.files.hosts, this.files.resolv].map((file) => readFile(file, 'utf8').catch(() => '')),
    );
    this.followServers(resolv ?? '');
    return { hosts: parseHosts(hosts ?? ''), ...parseResolv(resolv ?? '') };
  }

  /** c-ares reads its servers once; a machine that changed its network has others. */
  private followServers(resolv: string): void {
    const servers = wordsAfter(resolv, 'nameserver').filter((address) => isIP(address) !== 0);
    const before = this.servers;
    this.servers = servers.join(' ');
    if (before !== undefined && before !== this.servers && servers.length > 0)
      dns.setServers(servers);
  }
}

const shared = new NameLookup();

export const addressesOf = (hostname: string): Promise<LookupAddress[]> =>
  shared.addresses(hostname);

const ask = callbackify(addressesOf);
/** Looks a name up in the shape that sockets take, for connections to names that are not the installation's own. */
export const lookupName: LookupFunction = (hostname, options, callback) =>
  ask(hostname, (error, addresses) => {
    const [first] = addresses ?? [];
    if (error || !first) return callback(error, []);
    return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
  });

/** Returns an empty list where DNS says that there is none, or cannot say. Throws when it did not answer in time: the system would wait for the same server. */
async function askDns(name: string): Promise<LookupAddress[]> {
  const answers = await Promise.allSettled([
    dns.promises.resolve4(name),
    hasIpv6() ? dns.promises.resolve6(name) : [],
  ]);
  const found = answers.flatMap((answer, index) =>
    answer.status === 'fulfilled'
      ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 }))
      : [],
  );
  if (found.length > 0) return found;
  for (const answer of answers)
    if (answer.status === 'rejected' && isTimeout(answer.reason)) throw answer.reason;
  return [];
}

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === dns.TIMEOUT;

const isOfThisMachine = (name: string): boolean => /^(.*\.)?localhost$/.test(name);

/** Is RFC 3493's AI_ADDRCONFIG, which sockets ask for. */
function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(
      ({ family, internal, scopeid }) => family === 'IPv6' && !internal && scopeid === 0,
    ),
  );
}

/** Lists the names to try by resolv.conf(5): a name with fewer dots than `ndots` is looked for in the search domains first. A name that ends in a dot is whole. */
function candidates(name: string, { domains, dots }: Settings): string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)];
  const searched = domains.map((domain) => `${name}.${domain}`);
  return name.split('.').length > dots ? [name, ...searched] : [...searched, name];
}

function parseHosts(text: string): Map<string, LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names.map((one) => one.toLowerCase()))
      hosts.set(name, [...(hosts.get(name) ?? []), { address, family }]);
  }
  return hosts;
}

function parseResolv(text: string): Pick<Settings, 'domains' | 'dots'> {
  const lines = text.match(/^\s*(search|domain)\s.*$/gm) ?? [];
  const domains = lines.at(-1)?.trim().split(/\s+/).slice(1) ?? [];
  const dots = Number(/^\s*options\s.*\bndots:(\d+)/m.exec(text)?.[1] ?? 1);
  return {
    // A single dot stands for no domain at all.
    domains: domains
      .map((domain) => domain.replace(/\.$/, ''))
      .filter(Boolean)
      .slice(0, DOMAINS_MAX),
    dots: Math.min(dots, DOTS_MAX),
  };
}

const wordsAfter = (text: string, word: string): string[] =>
  [...text.matchAll(new RegExp(`^\\s*${word}\\s+(\\S+)`, 'gm'))].map(([, value = '']) => value);
