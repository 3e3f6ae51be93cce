import { asksForThread, deliveredOf, takesPrefill, type Delivered } from '@tollgate/protocols';
import type { Asked } from '../request/parse.ts';
import type { KeptEvents } from './kept-events.ts';

/**
 * Returns what keeps an answer that another upstream may end when it breaks off: as the model says, and by default where it has another route, which writes
 * on where it continues a prefill natively, and else may say the same again. Null where none may.
 */
export function keptAnswer(
  { ask, model: { failover }, candidates }: Asked,
  { keptEvents, accountId }: { keptEvents: KeptEvents; accountId: number },
): Delivered | null {
  // Its own upstream alone has the conversation under the answer's id, and keeps all of an answer or none.
  if (asksForThread(ask)) return null;
  if (failover?.continues !== undefined)
    return failover.continues ? deliveredOf(ask, { room: keptEvents.of(accountId) }) : null;
  if (!ask.isStream || (failover?.replay ?? 'always') !== 'always') return null;
  const first = candidates[0]?.[0]?.route;
  if (candidates.every((group) => group.every(({ route: { id } }) => id === first?.id)))
    return null;
  const isContinued = candidates.some((group) =>
    group.some(({ route, upstream }) => takesPrefill(upstream, route)),
  );
  return deliveredOf(ask, { isContinued, room: keptEvents.of(accountId) });
}
