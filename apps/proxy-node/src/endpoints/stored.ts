import type { IncomingMessage } from 'node:http';
import type { IdSealer, StoredMaker, StoredPlace } from '@tollgate/contracts';
import { isModelAllowed, type BackgroundPlace } from '@tollgate/keyspace';
import { conversationBody, fieldName, isNative, type StoredIds } from '@tollgate/protocols';
import type { ClientReply } from '../http/client-reply.ts';
import type { QuotaOfRequest } from '../http/body-quota.ts';
import { readBody } from '../http/read-body.ts';
import type { Admitter } from '../pipeline/admission/admit.ts';
import { authenticate } from '../pipeline/request/authenticate.ts';
import type { Access } from '../pipeline/admission/caller-access.ts';
import { unanswered } from '../pipeline/named-stored.ts';
import { droppedHeaders } from '../pipeline/request/premiums.ts';
import { storedNotFound } from '../pipeline/request/stored-routes.ts';
import { Refusal } from '../refusals.ts';
import type { RoutingIndex, ServedUpstream } from '../snapshot/routing-index.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import { storedIdsOf, type OpenStored } from '../upstream/stored-ids.ts';
import { makerOfItems, type Reach, type StoredReach } from '../upstream/stored-reach.ts';
import type { BackgroundGuard } from './background-guard.ts';
import type { StoredCall, StoredRelay } from './stored-relay.ts';

type Method = StoredCall['method'];

const RESPONSE = '/v1/responses/:id';
const CANCEL = '/v1/responses/:id/cancel';
const CONVERSATIONS = '/v1/conversations';
const ITEMS = '/v1/conversations/:id/items';

/** Lists the calls that clients can make about stored objects. https://platform.openai.com/docs/api-reference/responses, .../conversations */
export const STORED_PATHS: Readonly<Record<string, readonly Method[]>> = {
  [RESPONSE]: ['GET', 'DELETE'],
  [CANCEL]: ['POST'],
  '/v1/responses/:id/input_items': ['GET'],
  [CONVERSATIONS]: ['POST'],
  '/v1/conversations/:id': ['GET', 'POST', 'DELETE'],
  [ITEMS]: ['GET', 'POST'],
  '/v1/conversations/:id/items/:item': ['GET', 'DELETE'],
};

/** Each POST to these paths stores up to a body's limit at the provider, so it counts as a request. */
const STORING = new Set([CONVERSATIONS, ITEMS]);

/** At most this many upstreams are asked, one after another, to store a new conversation. */
const CONVERSATION_UPSTREAMS_MAX = 3;

export interface StoredRequest {
  incoming: IncomingMessage;
  addressHex: string;
  rid: string;
  index: RoutingIndex;
  /** Is the path that the client called, one of `STORED_PATHS`. */
  path: string;
  id: string | undefined;
  item: string | undefined;
  quota: QuotaOfRequest;
  bytesMax: number;
  sealer: IdSealer;
  reach: StoredReach;
  relay: StoredRelay;
  guard: BackgroundGuard;
  reply: ClientReply;
}

/**
 * Relays a call about stored responses and conversations to the upstream that has them. It is free, and counts in the window of inquiries. Returns
 * bytes, or an empty object when the answer was streamed. Throws Refusal.
 */
export async function storedEndpoint(admitter: Admitter, request: StoredRequest): Promise<object> {
  const { incoming, addressHex, path, id, quota, relay, guard } = request;
  const isRequest = incoming.method === 'POST' && STORING.has(path);
  const access = await admitter.inquire(authenticate(incoming.headers), addressHex, { isRequest });
  const { call, native, run, further } = await callOf(
    request,
    access,
    quota.takeFor(access.accountId),
  );
  const { method } = call;
  const look = () =>
    relay.call({ ...call, method: 'GET', path: native.replace(/\/cancel$/, ''), body: null });
  const cancel = () => relay.call({ ...call, method: 'POST', path: `${native}/cancel` });
  if (path === RESPONSE && method === 'DELETE' && run)
    await guard.beforeDelete(run, { look, cancel });
  const finished = path === CANCEL && run ? await guard.finished(run, look) : null;
  if (finished) return finished;
  const isRead = path === RESPONSE && method === 'GET';
  const running = isRead && run && (await guard.isRunning(run)) ? run : null;
  if (isRead && asksForStream(incoming)) {
    if (!(await showStream(request, { call, native, running }))) throw storedNotFound(id ?? '');
    return {};
  }
  const answer = await firstAnswer(relay, call, further);
  if (!answer) throw storedNotFound(id ?? '');
  if (path === CONVERSATIONS && method === 'POST') await made(request, access, answer);
  if (path === CANCEL && run) await guard.cancelled(run, answer);
  if (running) await guard.shownWhole(running, answer);
  return answer;
}

interface Stored {
  readonly call: StoredCall;
  /** Is the path at the upstream, without a query. */
  readonly native: string;
  /** Is the place of a possible background run; null when it has none yet. */
  readonly run: BackgroundPlace | null;
  /** The same call for other upstreams, each of which can serve it. */
  readonly further: readonly (() => StoredCall)[];
}

/** A failing upstream stores nothing, so the next one is asked. Throws the last failure. */
async function firstAnswer(
  relay: StoredRelay,
  call: StoredCall,
  further: Stored['further'],
): Promise<Uint8Array | null> {
  const [next, ...others] = further;
  try {
    return await relay.call(call);
  } catch (error) {
    if (!next || !(error instanceof UpstreamFailure) || !DOWN.has(error.error.kind)) throw error;
    return firstAnswer(relay, next(), others);
  }
}

const DOWN: ReadonlySet<UpstreamFailure['error']['kind']> = new Set([
  'auth',
  'overloaded',
  'rate_limited',
  'server',
  'timeout',
  'unreachable',
]);

async function callOf(
  request: StoredRequest,
  access: Access,
  take: ReturnType<QuotaOfRequest['takeFor']>,
): Promise<Stored> {
  const { incoming, rid, index, bytesMax, sealer, reach } = request;
  const { accountId } = access;
  const { open, useOf } = await reach.of(access, idsOf(request), index).catch(unanswered);
  const { place, upstreams } = placeOf(request, access, open);
  const [first, ...others] = upstreams;
  const maker = makerFor(access, place, useOf);
  const method = incoming.method === 'HEAD' ? 'GET' : (incoming.method as Method);
  const raw = method === 'POST' ? await readBody(incoming, { bytesMax, take }) : null;
  const [modelId] = maker.modelIds;
  const callTo = (upstream: ServedUpstream): { call: StoredCall; native: string } => {
    const { id: upstreamId, credentialId } = upstream;
    const ids = storedIdsOf(sealer, { accountId, upstreamId, credentialId, maker, open });
    const native = nativePath(request, ids);
    const kept = {
      ids,
      passesFiles: upstream.passes_file_ids ?? false,
      isKnownOnly: upstream.fields === 'known',
    };
    const call: StoredCall = {
      upstream,
      method,
      path: native + queryOf(incoming, ids),
      body: raw && bodyFor(request, raw, kept),
      rid,
      clientHeaders: incoming.headers,
      ids,
      model: modelId === undefined ? null : (index.modelById(modelId)?.name ?? ''),
    };
    return { call, native };
  };
  const { call, native } = callTo(first);
  const run = place && { accountId, upstreamId: first.id, responseId: place.id };
  return { call, native, run, further: others.map((upstream) => () => callTo(upstream).call) };
}

/** The stream of an unsettled response is read from its beginning, wherever its client continues, so that everything that was shown is counted. */
function showStream(
  { incoming, relay, guard, reply }: StoredRequest,
  { call, native, running }: { call: StoredCall; native: string; running: BackgroundPlace | null },
): Promise<boolean> {
  const after = Number(askedIn(incoming).get(AFTER) ?? -1);
  // The upstream itself refuses a value that is not a number.
  if (!running || !Number.isSafeInteger(after))
    return relay.stream(call, { reply, after: -1, onShown: null });
  const path = native + queryOf(incoming, call.ids, (name) => name !== AFTER);
  const onShown = (tokens: number): void => void guard.shown(running, tokens);
  return relay.stream({ ...call, path }, { reply, after, onShown });
}

/** The list contains the conversation, if the call names one. */
function idsOf({ id }: StoredRequest): string[] {
  return id === undefined ? [] : [id];
}

/** Returns the maker of the ids in the answer; the ids of its own conversation stay as the caller has them. */
function makerFor(
  { keyId }: Access,
  place: StoredPlace | null,
  useOf: Reach['useOf'],
): StoredMaker {
  if (!place) return { modelIds: [], keyId };
  const use = useOf(place);
  return use ? makerOfItems(place, use) : place;
}

/** Until Redis knows the object, only its maker reaches it. */
async function made({ reach }: StoredRequest, access: Access, answer: Uint8Array): Promise<void> {
  const { id } = JSON.parse(Buffer.from(answer).toString('utf8')) as { id?: unknown };
  if (typeof id === 'string') await reach.made(access, id).catch(() => undefined);
}

/** Returns the upstream that has the object. A new conversation has no place yet: any of several upstreams may store it. */
function placeOf(
  { id, index }: StoredRequest,
  access: Access,
  open: OpenStored,
): { place: StoredPlace | null; upstreams: [ServedUpstream, ...ServedUpstream[]] } {
  const place = id === undefined ? null : open(id);
  const known = place && index.upstreamById(place.upstreamId, place.credentialId);
  const [first, ...others] =
    id === undefined ? conversationsOf(index, access) : known ? [known] : [];
  if (!first || !isNative('responses', first))
    throw id === undefined ? new Refusal('no_conversations') : storedNotFound(id);
  return { place, upstreams: [first, ...others] };
}

function nativePath({ path, id, item }: StoredRequest, ids: StoredIds): string {
  const native = (sealed: string | undefined): string =>
    encodeURIComponent(sealed === undefined ? '' : opened(ids, sealed));
  return path.replace('/v1', '').replace(':id', native(id)).replace(':item', native(item));
}

/** A cancellation has no body. Items for a conversation are read like a request that uses it. */
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

/**
 * A new conversation belongs to no model. Returns the upstreams that store one, of the models that the caller is subscribed to and may use, in the
 * order of their routes.
 */
function conversationsOf(
  index: RoutingIndex,
  { subscribedModelIds, allowedModels }: Access,
): ServedUpstream[] {
  const upstreams = subscribedModelIds
    .filter((modelId) => isModelAllowed(allowedModels, index.modelById(modelId)?.name ?? ''))
    .toSorted((one, other) => one - other)
    .flatMap((modelId) => index.candidates(modelId, 'responses').flat())
    .filter(({ upstream }) => isNative('responses', upstream))
    .map(({ upstream }) => [upstream.id, upstream] as const);
  return [...new Map(upstreams).values()].slice(0, CONVERSATION_UPSTREAMS_MAX);
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
