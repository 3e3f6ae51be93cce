import type { IncomingMessage, ServerResponse } from 'node:http';
import { answer, type Exchange } from './answer.ts';
import { inBackground } from './background-response.ts';
import { planFor, type DemoRequest } from './plan.ts';
import { promptTokens } from './prompt-tokens.ts';
import type { ProviderRecord } from './record.ts';
import {
  conversationId,
  inputItems,
  messagesOf,
  newId,
  type Item,
  type ResponseStore,
} from './response-store.ts';
import { ResponsesDialect, responsesUsage } from './responses-dialect.ts';

export interface ResponsesCall {
  response: ServerResponse;
  record: ProviderRecord;
  store: ResponseStore;
  rid: string;
  mode: string | undefined;
  gone: AbortSignal;
}

/** Serves `POST /responses`: it answers, streams, or begins a background response. */
export async function respond(asked: DemoRequest, call: ResponsesCall): Promise<void> {
  const context = call.store.contextOf(asked);
  if (!context) return void notFound(call.response, asked.previous_response_id ?? 'conversation');
  const items = [...context, ...inputItems(asked)];
  const request = { ...asked, input: undefined, messages: messagesOf(items) };
  const plan = planFor(request, call.mode);
  const entry = call.record.open({
    rid: call.rid,
    protocol: 'responses',
    mode: plan.mode,
    isDirected: plan.isDirected,
    isStream: asked.stream === true,
    emitted: 0,
    promptTokens: promptTokens(request),
    reported: null,
    ending: 'open',
  });
  const { record, response, gone } = call;
  const exchange: Exchange = { request, plan, entry, record, response, gone };
  const dialect = new ResponsesDialect((ended) => keep(asked, ended, { items, call }));
  if (asked.background === true) return inBackground(exchange, { items, store: call.store });
  await answer(exchange, dialect);
}

function keep(
  asked: DemoRequest,
  ended: Item,
  { items, call: { store } }: { items: readonly Item[]; call: ResponsesCall },
): void {
  const conversation = store.conversation(conversationId(asked) ?? '');
  const output = Array.isArray(ended['output']) ? (ended['output'] as Item[]) : [];
  conversation?.push(...inputItems(asked), ...output);
  if (asked.store !== false) store.keep({ response: ended, input: items });
}

/** A compaction reports this many output tokens. */
const COMPACTED_TOKENS = 12;

/** Serves `POST /responses/compact`; returns false when the request continues an object that is not stored. */
export function compact(
  asked: DemoRequest,
  { response, record, store, rid }: Pick<ResponsesCall, 'response' | 'record' | 'store' | 'rid'>,
): boolean {
  const context = store.contextOf(asked);
  if (!context) return false;
  const items = [...context, ...inputItems(asked)];
  const prompt = promptTokens({ ...asked, input: undefined, messages: messagesOf(items) });
  const entry = record.open({
    rid,
    protocol: 'responses',
    mode: 'ok',
    isDirected: false,
    isStream: false,
    emitted: COMPACTED_TOKENS,
    promptTokens: prompt,
    reported: { prompt, output: COMPACTED_TOKENS },
    ending: 'open',
  });
  record.close(entry, 'finished');
  const compaction = {
    id: newId('cmp'),
    type: 'compaction',
    encrypted_content: Buffer.from(JSON.stringify(items)).toString('base64'),
  };
  return sendJson(response, 200, {
    id: newId('resp'),
    object: 'response.compaction',
    created_at: 1_767_225_600,
    output: [compaction],
    usage: responsesUsage({ prompt, output: COMPACTED_TOKENS }),
  });
}

/** Serves the paths below /responses and /conversations that generate nothing; returns false for any other path. */
export function serveStored(
  { method = '' }: IncomingMessage,
  path: string,
  {
    response,
    store,
    body,
    query,
  }: {
    response: ServerResponse;
    store: ResponseStore;
    body: unknown;
    query: URLSearchParams;
  },
): boolean {
  const [, kind, id = '', action = '', item = ''] = path.split('/');
  if (kind === 'responses')
    return serveResponse(`${method} ${action}`, id, { response, store, query });
  if (kind !== 'conversations') return false;
  return serveConversation(`${method} ${action}`, { id, item }, { response, store, body });
}

function serveResponse(
  asked: string,
  id: string,
  {
    response,
    store,
    query,
  }: { response: ServerResponse; store: ResponseStore; query: URLSearchParams },
): boolean {
  const stored = store.get(id);
  if (!stored) return notFound(response, id);
  switch (asked) {
    case 'GET ':
      if (query.get('stream') === 'true' && stored.events) {
        stored.events.follow(response, Number(query.get('starting_after') ?? -1));
        return true;
      }
      if (query.get('stream') === 'true' && stored.response['background'] === true)
        return sendError(response, 400, 'This response cannot be streamed.');
      return sendJson(response, 200, stored.response);
    case 'DELETE ':
      store.delete(id);
      return sendJson(response, 200, { id, object: 'response', deleted: true });
    case 'GET input_items':
      return sendList(response, stored.input);
    case 'POST cancel':
      if (stored.response['background'] !== true)
        return sendError(response, 400, 'Cannot cancel a synchronous response.');
      if (stored.response['status'] !== 'in_progress')
        return sendError(response, 400, 'Cannot cancel a completed response.');
      store.keep({ ...stored, response: { ...stored.response, status: 'cancelled' } });
      return sendJson(response, 200, store.get(id)?.response);
    default:
      return false;
  }
}

function serveConversation(
  asked: string,
  { id, item }: { id: string; item: string },
  { response, store, body }: { response: ServerResponse; store: ResponseStore; body: unknown },
): boolean {
  const given = inputItems({ input: (body as Item | undefined)?.['items'] } as DemoRequest);
  if (asked === 'POST ' && id === '')
    return sendJson(response, 200, conversation(store.createConversation(given)));
  const items = store.conversation(id);
  if (!items) return notFound(response, id);
  switch (asked) {
    case 'GET ':
    case 'POST ':
      return sendJson(response, 200, conversation(id));
    case 'DELETE ':
      store.deleteConversation(id);
      return sendJson(response, 200, { id, object: 'conversation.deleted', deleted: true });
    case 'POST items':
      items.push(...given);
      return sendList(response, given);
    case 'GET items': {
      if (item === '') return sendList(response, items);
      const found = items.find((one) => one['id'] === item);
      return found ? sendJson(response, 200, found) : notFound(response, item);
    }
    case 'DELETE items':
      items.splice(0, items.length, ...items.filter((one) => one['id'] !== item));
      return sendJson(response, 200, conversation(id));
    default:
      return false;
  }
}

function conversation(id: string): object {
  return { id, object: 'conversation', created_at: 1_767_225_600, metadata: {} };
}

function sendList(response: ServerResponse, data: readonly Item[]): true {
  const [first_id, last_id] = [data[0]?.['id'] ?? null, data.at(-1)?.['id'] ?? null];
  return sendJson(response, 200, { object: 'list', data, first_id, last_id, has_more: false });
}

function notFound(response: ServerResponse, id: string): true {
  return sendError(response, 404, `Item with id '${id}' not found.`);
}

function sendError(response: ServerResponse, status: number, message: string): true {
  const error = { message, type: 'invalid_request_error', param: null, code: null };
  return sendJson(response, status, { error });
}

function sendJson(response: ServerResponse, status: number, body: unknown): true {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  return true;
}
