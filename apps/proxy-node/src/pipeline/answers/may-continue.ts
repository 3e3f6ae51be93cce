import { asksForThread, takesPrefill } from '@tollgate/protocols';
import type { Asked } from '../request/parse.ts';

/** Returns whether a broken answer may be continued: as the model says, and by default where another of its routes continues a prefill natively. */
export function mayContinue({ ask, model: { failover }, candidates }: Asked): boolean {
  // Its own upstream alone has the conversation under the answer's id, and keeps all of an answer or none.
  if (asksForThread(ask)) return false;
  if (failover?.continues !== undefined) return failover.continues;
  if (!ask.isStream || (failover?.replay ?? 'always') !== 'always') return false;
  const routes = candidates.reduce((count, group) => count + group.length, 0);
  return (
    routes > 1 &&
    candidates.some((group) => group.some(({ route, upstream }) => takesPrefill(upstream, route)))
  );
}
