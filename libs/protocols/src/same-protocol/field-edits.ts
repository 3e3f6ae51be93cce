import type { ExchangeRequest } from '../exchange.ts';
import { withoutFields } from '../json/edit-paths.ts';
import type { PathEdit } from '../json/edit-paths.ts';
import { isRecord, numberOf } from '../json/json-guard.ts';

/**
 * Returns the edits of a request of the upstream's own protocol before it is sent: the upstream's name of the model, the granted limit, and nothing of
 * what may not pass. A limit goes over each field that asks for more, as several may be set, and into `limitField` when the client set none.
 * A thinking budget must stay below the limit.
 */
export function fieldEdits(
  {
    ask,
    upstreamModel,
    outputLimit,
    dropped = [],
  }: Pick<ExchangeRequest, 'ask' | 'upstreamModel' | 'outputLimit' | 'dropped'>,
  limitField: string,
): PathEdit[] {
  return [
    ...(ask.model === upstreamModel ? [] : [modelEdit(upstreamModel)]),
    ...(outputLimit === null ? [] : limitEdits(ask, outputLimit, limitField)),
    ...withoutFields(dropped),
  ];
}

export function modelEdit(upstreamModel: string): PathEdit {
  return edit(['model'], upstreamModel);
}

/** Most upstreams report usage on streams only with this option; the usage is hidden from a client that did not ask (behaviour 8). */
export function streamUsageEdits({
  isStream,
  wantsStreamUsage,
  body,
}: Pick<ExchangeRequest['ask'], 'isStream' | 'wantsStreamUsage' | 'body'>): PathEdit[] {
  if (!isStream || wantsStreamUsage) return [];
  return [
    isRecord(body['stream_options'])
      ? { path: ['stream_options', 'include_usage'], text: 'true' }
      : { path: ['stream_options'], text: '{"include_usage":true}' },
  ];
}

function limitEdits(
  { fields }: Pick<ExchangeRequest['ask'], 'fields'>,
  limit: number,
  limitField: string,
): PathEdit[] {
  const edits: PathEdit[] = [];
  if (!fields.some(({ role }) => role === 'limit')) edits.push(edit([limitField], limit));
  for (const { role, path, value } of fields) {
    if (role !== 'limit' && role !== 'budget') continue;
    const most = role === 'limit' ? limit : Math.max(1, limit - 1);
    if (numberOf(value) > most) edits.push(edit(path, most));
  }
  return edits;
}

function edit(path: readonly string[], value: string | number): PathEdit {
  return { path, text: JSON.stringify(value) };
}
