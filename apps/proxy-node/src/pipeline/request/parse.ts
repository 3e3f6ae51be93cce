import { setImmediate } from 'node:timers/promises';
import { CLIENT_PROTOCOL_ROWS, clientProtocol } from '@tollgate/contracts';
import { isPromptBounded, priceInForce } from '@tollgate/metering';
import {
  findUnsupported,
  parseAsk,
  parseAskInTurns,
  type Ask,
  type ClientProtocol,
} from '@tollgate/protocols';
import type { SnapshotModel } from '@tollgate/snapshot';
import { modelNotFound, Refusal } from '../../refusals.ts';
import type { CandidateGroups, RoutingIndex } from '../../snapshot/routing-index.ts';
import type { NamedStored } from '../named-stored.ts';
import type { ClientRequest } from './client-request.ts';
import { routesToFiles, routesToStored } from './stored-routes.ts';
import { routesToThread } from './thread-routes.ts';
import { termsOf, type Terms } from './premiums.ts';

/** A body up to this size is parsed within a few milliseconds. */
const LARGE_BODY_BYTES = 256 * 1024;

/** Describes a request that can be served, if its caller may send it. */
export interface Asked extends Terms {
  readonly ask: Ask;
  readonly model: SnapshotModel;
  readonly candidates: CandidateGroups;
  /** Holds the names of the model at the upstreams that may serve it. */
  readonly upstreamModels: readonly string[];
  readonly stored: NamedStored;
  /** Is `Threaded.resend`. */
  readonly resend: Error | null;
}

/** Parses a body; other requests continue between the passes over a large one. Throws InvalidRequest: callers are authenticated before they see it. */
export function askOf(
  { protocol, isCompaction, call }: Pick<ClientRequest, 'protocol' | 'isCompaction' | 'call'>,
  raw: Buffer,
): Ask | Promise<Ask> {
  return raw.length > LARGE_BODY_BYTES
    ? parseAskInTurns(protocol, raw, { pause: setImmediate, isCompaction, call })
    : parseAsk(protocol, raw, { isCompaction, call });
}

/** Returns the model that a request names, its routes, and the terms on which it is served. Throws Refusal or InvalidRequest. */
export function routesFor(
  sent: Ask,
  {
    index,
    receivedAtMs,
    stored,
  }: { index: RoutingIndex; receivedAtMs: number; stored: NamedStored },
): Asked {
  const { protocol } = sent;
  const model = index.modelNamed(sent.model);
  if (!model?.is_on_shelf) throw modelNotFound(sent.model);
  if (clientProtocol(protocol).kind !== model.kind)
    throw new Refusal('wrong_model_kind', { param: 'model' });
  const price = priceInForce(model.prices, receivedAtMs);
  if (!price) throw modelNotFound(sent.model);
  const all = index.candidates(model.id, protocol);
  if (all.length === 0) throw noRoute(index, model, protocol);
  const { open } = stored;
  const threaded = routesToThread(sent, { candidates: all, modelId: model.id, open });
  const { ask, resend } = threaded;
  const candidates = routesToFiles(ask, routesToStored(ask, threaded.candidates, open));
  refuseUncarried(ask, candidates);
  // Nothing could be held for what it may cost.
  if (!isPromptBounded({ ask, model })) throw new Refusal('input_unbounded');
  const upstreamModels = candidates.flat().map(({ route }) => route.upstream_model);
  const terms = termsOf({ ask, price, candidates });
  return { ask, model, candidates, upstreamModels, stored, resend, ...terms };
}

/** A request that no route's protocol can express is the caller's error: it is refused before it is counted, takes a hold or leaves a usage row. */
function refuseUncarried(ask: Ask, candidates: CandidateGroups): void {
  let first: Error | null = null;
  for (const group of candidates) {
    for (const { route, upstream } of group) {
      const unsupported = findUnsupported(ask, {
        speech: upstream,
        upstreamModel: route.upstream_model,
      });
      if (!unsupported) return;
      first ??= unsupported;
    }
  }
  if (first) throw first;
}

function noRoute(index: RoutingIndex, model: SnapshotModel, protocol: ClientProtocol): Refusal {
  if (!index.hasRoutes(model.id))
    return new Refusal('no_route', { headers: { 'retry-after': '5' }, about: model.name });
  const served = CLIENT_PROTOCOL_ROWS.filter(({ kind }) => kind === model.kind)
    .filter(({ name }) => index.candidates(model.id, name).length > 0)
    .map(({ path }) => path);
  const detail = `The model ${JSON.stringify(model.name)} has no route for the ${protocol} protocol; it is served at ${served.join(', ')}.`;
  return new Refusal('protocol_not_served', { param: 'model', detail });
}
