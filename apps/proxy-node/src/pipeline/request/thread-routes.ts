import { keepsThreads, threadOf, threadUnsupported, type Ask } from '@tollgate/protocols';
import { Refusal } from '../../refusals.ts';
import type { Candidate, CandidateGroups } from '../../snapshot/routing-index.ts';
import { isKeptBy, type OpenStored } from '../../upstream/stored-ids.ts';

/** Describes a request by the routes that can serve it. */
export interface Threaded {
  readonly ask: Ask;
  readonly candidates: CandidateGroups;
  /** The client gets this in place of a failure of these routes, and of a refusal of the hold: with the messages themselves the request may be served; null where it would not, and for a request that asks for no thread. */
  readonly resend: Error | null;
}

/**
 * Returns the routes: a message thread is in one account of one provider: it is opened at the upstreams that its model prefers, if they keep threads, and continued at its own. The
 * request that continues one is sized by what its id says of it. Throws InvalidRequest, and Refusal where there is nothing to continue.
 */
export function routesToThread(
  ask: Ask,
  { candidates, modelId, open }: { candidates: CandidateGroups; modelId: number; open: OpenStored },
): Threaded {
  const thread = threadOf(ask);
  if (!thread) return { ask, candidates, resend: null };
  const keeping = ({ upstream }: Candidate): boolean => keepsThreads(upstream);
  const all = candidates.flat();
  if (thread.type === 'create') {
    const preferred = candidates[0]?.filter(keeping) ?? [];
    const unsupported = threadUnsupported('thread', "by this model's upstreams");
    if (preferred.length === 0) throw unsupported;
    const hasOthers = preferred.length < all.length;
    return { ask, candidates: [preferred], resend: hasOthers ? unsupported : null };
  }
  if (!all.some(keeping)) throw threadUnsupported('thread', "by this model's upstreams");
  const place = open(thread.previousId);
  const isOfModel = place?.modelIds.includes(modelId) === true;
  const own = all.filter((each) => keeping(each) && place && isKeptBy(each.upstream, place));
  const lost = new Refusal('thread_not_found', { param: 'thread.previous_message_id' });
  if (!place?.thread || !isOfModel || own.length === 0) throw lost;
  const prompt = { ...ask.prompt, thread: place.thread };
  return { ask: { ...ask, prompt }, candidates: [own], resend: lost };
}
