import { monotonicMs } from '../monotonic-ms.ts';
import type { Admission, Admitted } from './admission/admission.ts';
import { askedOf, comingFrom, fallbacksOn } from './fallbacks.ts';
import type { Credentials } from './request/authenticate.ts';
import type { ClientRequest } from './request/client-request.ts';
import { namedScopes } from '../http/named-scopes.ts';
import { routesFor, type Asked } from './request/parse.ts';
import type { RoutingIndex } from '../snapshot/routing-index.ts';
import { Turn, type TurnHost } from './turn.ts';

/** Holds the parts with which a request is admitted, under the model that it names or another one. */
export interface Caller {
  readonly request: ClientRequest;
  readonly credentials: Credentials;
  readonly index: RoutingIndex;
}

interface Taken {
  readonly request: ClientRequest;
  readonly asked: Asked;
  readonly admitted: Admitted;
}

export function admissionOf(
  { parts: { trust } }: TurnHost,
  { request, credentials }: Omit<Caller, 'index'>,
  asked: Asked,
): Admission {
  const { rid, receivedAtMs, addressHex, reply, incoming } = request;
  return {
    ...{ rid, receivedAtMs, addressHex, client: reply },
    ask: asked.ask,
    model: asked.model,
    upstreamModels: asked.upstreamModels,
    price: asked.price,
    scopes: namedScopes(incoming.headers, asked.ask.body),
    overrun: trust.overrunOf(asked.candidates, credentials, monotonicMs()),
  };
}

/** Another model takes the request over, on a subscription and with a hold of its own; null when none does. */
export async function fallbackTurn(
  host: TurnHost,
  { request, asked, attempts }: Turn,
  { error, ...caller }: Omit<Caller, 'request'> & { error: unknown },
): Promise<Turn | null> {
  const { newRid } = host.parts;
  // The key's windows have counted this request already.
  const taken = await takeOver(host, asked, {
    ...caller,
    ...{ error, isCounted: false },
    requestOf: () => ({ ...request, rid: newRid() }),
  });
  if (!taken) return null;
  const { rid } = taken.request;
  request.reply.addHeaders({ 'x-request-id': rid, 'request-id': rid });
  return new Turn(host, taken, comingFrom(attempts));
}

/** Another model takes a request that a budget has not admitted; null when none does, or the error is no such refusal. */
export function admittedElsewhere(
  host: TurnHost,
  asked: Asked,
  { request, ...caller }: Caller & { error: unknown },
): Promise<Taken | null> {
  return takeOver(host, asked, { ...caller, isCounted: true, requestOf: () => request });
}

/** A model that refuses the request leaves the others to be tried. */
async function takeOver(
  host: TurnHost,
  asked: Asked,
  {
    error,
    credentials,
    index,
    isCounted,
    requestOf,
  }: Omit<Caller, 'request'> & {
    error: unknown;
    isCounted: boolean;
    requestOf: () => ClientRequest;
  },
): Promise<Taken | null> {
  for (const name of fallbacksOn(asked.model, error)) {
    const request = requestOf();
    if (host.isCut || request.reply.isGone) return null;
    const { receivedAtMs } = request;
    const other = askedOf(asked, name, (ask) =>
      routesFor(ask, { index, receivedAtMs, stored: asked.stored }),
    );
    if (!other) continue;
    const admission = { ...admissionOf(host, { request, credentials }, other), isCounted };
    const admitted = await host.parts.admitter.admit(credentials, admission).catch(() => null);
    if (admitted) return { request, asked: other, admitted };
  }
  return null;
}
