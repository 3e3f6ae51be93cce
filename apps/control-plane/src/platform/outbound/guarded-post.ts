import { lookup as dnsLookup } from 'node:dns';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { isAddressAllowed, type OutboundPolicy } from '@tollgate/contracts';

const TIMEOUT_MS = 5_000;

/**
 * The control plane's one way out (security S7): POSTs JSON to an address the policy allows, judged when it is dialled, and follows no
 * redirect. Resolves with the status; rejects when nobody answered within 5 s or the address is refused. The answer's body is not read.
 */
export function guardedPost(
  url: URL,
  {
    body,
    headers,
    policy,
  }: { body: string; headers: Record<string, string>; policy: OutboundPolicy },
): Promise<number> {
  const isEncrypted = url.protocol === 'https:';
  const literal = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(literal) !== 0 && !isAddressAllowed(literal, policy, { isEncrypted }))
    return Promise.reject(refused(literal));
  return new Promise((resolve, reject) => {
    const request = (isEncrypted ? requestHttps : requestHttp)(
      url,
      // A connection of its own: one kept from before would not be judged again.
      {
        method: 'POST',
        agent: false,
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        lookup: guardedLookup(policy, isEncrypted),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      },
      (response) => {
        resolve(response.statusCode ?? 0);
        response.destroy();
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

function guardedLookup(policy: OutboundPolicy, isEncrypted: boolean): LookupFunction {
  return (hostname, options, callback) => {
    dnsLookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const allowed = addresses.filter(({ address }) =>
        isAddressAllowed(address, policy, { isEncrypted }),
      );
      const [first] = allowed;
      if (!first) return callback(refused(hostname), []);
      return options.all ? callback(null, allowed) : callback(null, first.address, first.family);
    });
  };
}

function refused(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${host} leads to no allowed address`), {
    code: 'ADDRESS_REFUSED',
  });
}
