import type { Fault, FaultKind } from './fault-plan.ts';
import { Violation } from './violation.ts';

/** Faults that leave Redis and the books apart until the reconciliation, each with how. No other repair is expected. */
const REPAIR_CAUSES: Partial<Record<FaultKind, string>> = {
  'drop-days': 'Finals of a dropped day wait for a person, while Redis has debited them.',
  'lost-disk':
    'Redis debited finals whose events were lost on their way, and no journal sends them again.',
};

/** Throws `Violation` where the reconciliation repaired what no fault of the plan explains. */
export function checkRepairs(
  repairs: readonly { what: string; step: number }[],
  plan: readonly Pick<Fault, 'kind'>[],
): void {
  const [first] = repairs;
  if (!first || plan.some(({ kind }) => kind in REPAIR_CAUSES)) return;
  throw new Violation(`had to be repaired at step ${first.step}: ${first.what}`);
}
