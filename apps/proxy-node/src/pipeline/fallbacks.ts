import { OTHER_MODEL } from '@tollgate/contracts';
import { askForModel, InvalidRequest } from '@tollgate/protocols';
import type { FallbackCondition, SnapshotModel } from '@tollgate/snapshot';
import { Refusal } from '../refusals.ts';
import { mayRepeat, UpstreamFailure } from '../upstream/upstream-failure.ts';
import { BudgetSpent } from './admission/budget-exceeded.ts';
import type { RouteAttempt } from './sending/attempt.ts';
import { AllRest } from './answers/no-answer.ts';
import type { Asked } from './request/parse.ts';

/** Returns the names of the models that may answer instead of this one after such a failure, in order. */
export function fallbacksOn({ failover = {} }: SnapshotModel, error: unknown): string[] {
  const condition = conditionOf(error, failover.replay ?? 'always');
  if (condition === null) return [];
  return (failover.fallbacks ?? [])
    .filter(({ on }) => on.includes(condition))
    .map(({ model }) => model);
}

/** Returns the request as another model takes it; null where that cannot be. */
export function askedOf(
  { ask, model }: Asked,
  name: string,
  routes: (ask: Asked['ask']) => Asked,
): Asked | null {
  try {
    const asked = routes(askForModel(ask, name));
    return asked.model.id === model.id ? null : asked;
  } catch (error) {
    if (error instanceof Refusal || error instanceof InvalidRequest) return null;
    throw error;
  }
}

/** Stands first in the receipt of the model that answers: where the request was before. */
export function comingFrom(attempts: readonly RouteAttempt[]): RouteAttempt[] {
  const last = attempts.at(-1);
  if (!last) return [];
  const duration_ms = attempts.reduce((sum, attempt) => sum + attempt.duration_ms, 0);
  return [
    {
      upstream_id: last.upstream_id,
      route_id: last.route_id,
      error: OTHER_MODEL,
      duration_ms,
    },
  ];
}

/** Returns the condition on which a request falls back. It does not after content was shown, for its own fault, or if the gateway ended it. */
function conditionOf(
  error: unknown,
  replay: Parameters<typeof mayRepeat>[1],
): FallbackCondition | null {
  if (error instanceof BudgetSpent) return error.fallsBack ? 'budget' : null;
  if (!(error instanceof UpstreamFailure)) return null;
  if (error instanceof AllRest) return 'rest';
  if (!mayRepeat(error, replay)) return null;
  return error.error.kind === 'context_overflow' ? 'overflow' : 'error';
}
