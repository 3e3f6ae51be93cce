import type { IncomingMessage } from 'node:http';
import type { IdSealer } from '@tollgate/contracts';
import type { BackgroundPlace } from '@tollgate/keyspace';
import { conversationBody, fieldName, isNative, type StoredIds } from '@tollgate/protocols';
import type { SnapshotUpstream } from '@tollgate/snapshot';
import type { ClientReply } from '../http/client-reply.ts';
import type { QuotaOfRequest } from '../http/body-quota.ts';
import { readBody } from '../http/read-body.ts';
import type { Admitter } from '../pipeline/admit.ts';
import { authenticate } from '../pipeline/authenticate.ts';
import { droppedHeaders } from '../pipeline/premiums.ts';
import { storedNotFound } from '../pipeline/stored-routes.ts';
import { Refusal } from '../refusals.ts';
import type { RoutingIndex } from '../snapshot/routing-index.ts';
import { storedIdsOf } from '../upstream/stored-ids.ts';
import type { BackgroundGuard } from './background-guard.ts';
import type { StoredCall, StoredRelay } from './stored-relay.ts';

type Method = StoredCall['method'];

const RESPONSE = '/v1/responses/:id';
const CANCEL = '/v1/responses/:id/cancel';

/** What can be done with what an upstream has stored. https://platform.openai.com/docs/api-reference/responses, .../conversations */
export const STORED_PATHS: Readonly<Record<string, readonly Method[]>> = {
  [RESPONSE]: ['GET', 'DELETE'],
  [CANCEL]: ['POST'],
  '/v1/responses/:id/input_items': ['GET'],
  '/v1/conversations': ['POST'],
  '/v1/conversations/:id': ['GET', 'POST', 'DELETE'],
  '/v1/conversations/:id/items': ['GET', 'POST'],
  '/v1/conversations/:id/items/:item': ['GET', 'DELETE'],
};

export interface StoredRequest {
  incoming: IncomingMessage;
  addressHex: string;
  rid: string;
  index: RoutingIndex;
  /** Of `STORED_PATHS`. */
  path: string;
  /** Sealed. */
  id: string | undefined;
  item: string | undefined;
  quota: QuotaOfRequest;
  bytesMax: number;
  sealer: IdSealer;
  relay: StoredRelay;
  guard: BackgroundGuard;
  reply: ClientReply;
}

/**
 * Passes a call about stored responses and conversations to the upstream that has them. Free, and counted in the window of inquiries. Answers bytes, or an empty
 * object where the answer has been streamed. Throws Refusal.
 */
export async function storedEndpoint(admitter: Admitter, request: StoredRequest): Promise<object> {
  const { incoming, addressHex, path, id, quota, relay, guard } = request;
  const access = await admitter.inquire(authenticate(incoming.headers), addressHex);
  const { call, native, run } = await callOf(request, access, quota.takeFor(access.accountId));
  const { method } = call;
  if (path === RESPONSE && method === 'DELETE' && run)
    await guard.beforeDelete(run, () =>
      relay.call({ ...call, method: 'POST', path: `${native}/cancel` }),
    );
  const isRead = path === RESPONSE && method === 'GET';
  const running = isRead && run && (await guard.isRunning(run)) ? run : null;
  if (isRead && asksForStream(incoming)) {
    if (!(await showStream(request, { call, native, running }))) throw storedNotFound(id ?? '');
    return {};
  }
  const answer = await relay.call(call);
  if (!answer) throw storedNotFound(id ?? '');
  if (path === CANCEL && run) await guard.cancelled(run, answer);
  if (running) await guard.shownWhole(running, answer);
  return answer;
}

interface Stored {
  readonly call: StoredCall;
  /** The path at the upstream, without a query. */
  readonly native: string;
  /** Where it may be made in the background; null where it has no place yet. */
  readonly run: BackgroundPlace | null;
}

async function callOf(
  request: StoredRequest,
  access: Awaited<ReturnType<Admitter['inquire']>>,
  take: ReturnType<QuotaOfRequest['takeFor']>,
): Promise<Stored> {
  const { incoming, rid, index, bytesMax, sealer } = request;
  const { accountId } = access;
  const { place, upstream } = placeOf(request, access);
  const { modelId } = place ?? { modelId: 0 };
  const ids = storedIdsOf(sealer, { accountId, upstreamId: upstream.id, modelId });
  const native = nativePath(request, place, ids);
  const method = incoming.method === 'HEAD' ? 'GET' : (incoming.method as Method);
  const kept = {
    ids,
    passesFiles: upstream.passes_file_ids ?? false,
    isKnownOnly: upstream.fields === 'known',
  };
  const call: StoredCall = {
    upstream,
    method,
    path: native + queryOf(incoming, ids),
    body:
      method === 'POST'
        ? bodyFor(request, await readBody(incoming, { bytesMax, take }), kept)
        : null,
    rid,
    clientHeaders: incoming.headers,
    ids,
    model: modelId === 0 ? null : (index.modelById(modelId)?.name ?? ''),
  };
  const run = place && { accountId, upstreamId: upstream.id, responseId: place.id };
  return { call, native, run };
}

/** A stream of what is still to be settled is read from its beginning, wherever its client continues: so that all that was shown of it is counted. */
function showStream(
  { incoming, relay, guard, reply }: StoredRequest,
  { call, native, running }: { call: StoredCall; native: string; running: BackgroundPlace | null },
): Promise<boolean> {
  const after = Number(askedIn(incoming).get(AFTER) ?? -1);
  // What is no number is for the upstream to refuse.
  if (!running || !Number.isSafeInteger(after))
    return relay.stream(call, { reply, after: -1, onShown: null });
  const path = native + queryOf(incoming, call.ids, (name) => name !== AFTER);
  const onShown = (tokens: number): void => void guard.shown(running, tokens);
  return relay.stream({ ...call, path }, { reply, after, onShown });
}

/** Which upstream has it. A new conversation has no place yet. */
function placeOf(
  { id, sealer, index }: StoredRequest,
  { accountId, subscribedModelIds }: Awaited<ReturnType<Admitter['inquire']>>,
) {
  const place = id === undefined ? null : sealer.open(accountId, id);
  const upstream = place
    ? index.upstreamById(place.upstreamId)
    : conversationsOf(index, subscribedModelIds);
  if ((id !== undefined && !place) || !upstream || !isNative('responses', upstream))
    throw id === undefined ? new Refusal('no_conversations') : storedNotFound(id);
  return { place, upstream };
}

function nativePath(
  { path, item }: StoredRequest,
  place: { id: string } | null,
  ids: StoredIds,
): string {
  return path
    .replace('/v1', '')
    .replace(':id', encodeURIComponent(place?.id ?? ''))
    .replace(':item', encodeURIComponent(item === undefined ? '' : opened(ids, item)));
}

/** A cancellation says nothing. What goes into a conversation is read as a request that uses it is. */
function bodyFor(
  { path, reply }: StoredRequest,
  raw: Buffer,
  kept: Parameters<typeof conversationBody>[1],
): Uint8Array {
  if (path === CANCEL) return NOTHING;
  const { bytes, strange, dropped } = conversationBody(raw, kept);
  if (strange) throw storedNotFound(strange.id, fieldName(strange.path));
  reply.addHeaders(droppedHeaders(dropped));
  return bytes;
}

const NOTHING = new Uint8Array();

/** A new conversation belongs to no model: it is stored by the first upstream that can, of the models that the caller is subscribed to. */
function conversationsOf(
  index: RoutingIndex,
  modelIds: readonly number[],
): SnapshotUpstream | undefined {
  return modelIds
    .toSorted((one, other) => one - other)
    .flatMap((modelId) => index.candidates(modelId, 'responses').flat())
    .find(({ upstream }) => isNative('responses', upstream))?.upstream;
}

const AFTER = 'starting_after';
const PASSED = new Set([
  'after',
  'include',
  'include[]',
  'include_obfuscation',
  'limit',
  'order',
  AFTER,
  'stream',
]);

function asksForStream(incoming: IncomingMessage): boolean {
  return askedIn(incoming).get('stream') === 'true';
}

function askedIn({ url }: IncomingMessage): URLSearchParams {
  return new URL(url ?? '/', 'http://node').searchParams;
}

function queryOf(
  incoming: IncomingMessage,
  ids: StoredIds,
  isWanted: (name: string) => boolean = () => true,
): string {
  const passed = [...askedIn(incoming)]
    .filter(([name]) => PASSED.has(name) && isWanted(name))
    .map(([name, value]): [string, string] => [
      name,
      name === 'after' ? opened(ids, value) : value,
    ]);
  return passed.length === 0 ? '' : `?${new URLSearchParams(passed).toString()}`;
}

function opened(ids: StoredIds, sealed: string): string {
  const id = ids.open(sealed);
  if (id === null) throw storedNotFound(sealed);
  return id;
}
