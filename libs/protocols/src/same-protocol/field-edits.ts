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
  const ofRole = (role: string) => fields.filter((field) => field.role === role);
  const given = ofRole('limit');
  const budgetMax = Math.max(1, limit - 1);
  return [
    ...(given.length === 0 ? [edit([limitField], limit)] : []),
    ...given.filter(({ value }) => numberOf(value) > limit).map(({ path }) => edit(path, limit)),
    ...ofRole('budget')
      .filter(({ value }) => numberOf(value) > budgetMax)
      .map(({ path }) => edit(path, budgetMax)),
  ];
}

function edit(path: readonly string[], value: string | number): PathEdit {
  return { path, text: JSON.stringify(value) };
}
