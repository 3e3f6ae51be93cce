import { monotonicMs } from '../monotonic-ms.ts';
import { askedOf, comingFrom, fallbacksOn } from './fallbacks.ts';
import type { Credentials } from './request/authenticate.ts';
import { namedScopes } from '../http/named-scopes.ts';
import { routesFor } from './request/parse.ts';
import type { RoutingIndex } from '../snapshot/routing-index.ts';
import { Turn, type TurnHost } from './turn.ts';

/** Holds the parts with which a fallback is admitted. */
export interface Caller {
  readonly credentials: Credentials;
  readonly index: RoutingIndex;
}

/** Another model takes the request over, on a subscription and with a hold of its own; null when none does. */
export async function fallbackTurn(
  host: TurnHost,
  { request, asked, attempts }: Turn,
  { error, credentials, index }: Caller & { error: unknown },
): Promise<Turn | null> {
  const { reply, receivedAtMs, addressHex } = request;
  const { admitter, trust, newRid } = host.parts;
  if (host.isCut || reply.isGone) return null;
  for (const name of fallbacksOn(asked.model, error)) {
    const other = askedOf(asked, name, (ask) =>
      routesFor(ask, { index, receivedAtMs, stored: asked.stored }),
    );
    if (!other) continue;
    const rid = newRid();
    const overrun = trust.overrunOf(other.candidates, credentials, monotonicMs());
    const scopes = namedScopes(request.incoming.headers, other.ask.body);
    const place = { rid, receivedAtMs, addressHex, client: reply, scopes };
    // The key's windows have counted this request already. A model that refuses it leaves the others to be tried.
    const admitted = await admitter
      .admit(credentials, { ...other, ...place, overrun, isCounted: false })
      .catch(() => null);
    if (!admitted) continue;
    reply.addHeaders({ 'x-request-id': rid, 'request-id': rid });
    const taken = { request: { ...request, rid }, asked: other, admitted };
    return new Turn(host, taken, comingFrom(attempts));
  }
  return null;
}
