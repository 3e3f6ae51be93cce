import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { Exchange, ExchangeRequest, JsonReading, StreamSink } from '../exchange.ts';
import { isRecord, parseJson, record, records } from '../json/json-guard.ts';
import { findMember, layoutObject } from '../json/json-layout.ts';
import { applyPatches, editObject } from '../json/json-splice.ts';
import type { Patch } from '../json/json-splice.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { messageText } from '../tap/message-text.ts';
import { readMessagesUsage } from '../usage/messages-usage.ts';
import { limitEdits } from './limit-edits.ts';
import { MessagesStream } from './messages-stream.ts';
import { unsignedThinkingPatches } from './unsigned-thinking.ts';
import { withModel } from './with-model.ts';

/** For clients that send none; still accepted beside the newer one (docs/design/protocols.md#keys-and-versions). */
const DEFAULT_VERSION = '2023-06-01';
/** https://platform.claude.com/docs/en/build-with-claude/extended-thinking */
const THINKING_BUDGET_MIN = 1_024;

/** messages -> messages: the request's and the answer's own bytes, but for the closed list of docs/translation.md. Version and betas are forwarded as they are. */
export function messagesExchange(request: ExchangeRequest): Exchange {
  const { ask, clientHeaders, idSeed } = request;
  const beta = clientHeaders['anthropic-beta'];
  return {
    path: '/messages',
    requestBody: messagesRequest(request),
    requestHeaders: {
      'anthropic-version': clientHeaders['anthropic-version'] ?? DEFAULT_VERSION,
      ...(beta === undefined ? {} : { 'anthropic-beta': beta }),
    },
    readJson: (body) => readMessage(body, ask.model),
    openStream: (sink: StreamSink) =>
      new EventStreamReader(new MessagesStream({ model: ask.model, idSeed, sink })),
  };
}

function messagesRequest({ ask, upstreamModel, outputLimit }: ExchangeRequest): Uint8Array {
  const edits = limitEdits(ask.body, outputLimit, {
    fields: ['max_tokens'],
    fallback: 'max_tokens',
  });
  if (ask.model !== upstreamModel) edits['model'] = JSON.stringify(upstreamModel);
  return applyPatches(ask.raw, [
    ...editObject(ask.layout, edits),
    ...budgetPatches(ask, outputLimit),
    ...unsignedThinkingPatches(ask),
  ]);
}

/** A thinking budget must stay below max_tokens, so a lowered limit lowers it too. */
function budgetPatches(
  { raw, layout, body }: ExchangeRequest['ask'],
  outputLimit: number | null,
): Patch[] {
  const budget = record(body['thinking'])['budget_tokens'];
  if (
    outputLimit === null ||
    typeof budget !== 'number' ||
    budget < outputLimit ||
    outputLimit <= THINKING_BUDGET_MIN
  )
    return [];
  const thinking = findMember(layout, 'thinking');
  const inner = thinking && layoutObject(raw, thinking.valueStart);
  return inner ? editObject(inner, { budget_tokens: String(outputLimit - 1) }) : [];
}

function readMessage(body: Uint8Array, model: string): JsonReading {
  const answer = parseJson(body);
  const error = readInBandError(answer);
  if (error) return { kind: 'error', error };
  if (!isRecord(answer) || !Array.isArray(answer['content']))
    return { kind: 'error', error: upstreamError('unreadable') };
  return {
    kind: 'answer',
    body: withModel(body, model),
    usage: readMessagesUsage(answer['usage']),
    outputText: records(answer['content']).map(messageText).join(''),
  };
}
