import { createHash } from 'node:crypto';
import { Refusal } from '../../platform/http/refusal.ts';
import type { BulkOutcome, BulkPlan, BulkStep } from './bulk.dto.ts';

type Subject = Pick<BulkStep, 'action' | 'kind' | 'id' | 'name'>;

export function stepOf(subject: Subject, rest: Partial<Omit<BulkStep, keyof Subject>>): BulkStep {
  return {
    ...subject,
    differences: [],
    keys: null,
    subscriptions: null,
    blocked_by: null,
    ...rest,
  };
}

export function planOf(steps: BulkStep[]): BulkPlan {
  return { digest: createHash('sha256').update(JSON.stringify(steps)).digest('hex'), steps };
}

/** Throws precondition_failed when the plan has become another one since it was reviewed. */
export function refuseUnseen(plan: BulkPlan, digest: string): void {
  if (plan.digest !== digest)
    throw new Refusal('precondition_failed', {
      detail: 'The plan would change something else by now; plan and review again',
    });
}

/** Runs the steps that are not blocked, in order. A step that is refused does not stop the others. */
export async function applySteps(
  steps: readonly BulkStep[],
  run: (step: BulkStep) => Promise<unknown>,
): Promise<BulkOutcome> {
  const failed: BulkOutcome['failed'] = [];
  const due = steps.filter(({ blocked_by: reason }) => reason === null);
  for (const step of due) {
    try {
      await run(step);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { kind, id, name } = step;
      failed.push({ kind, id, name, code: error.code, message: error.message });
    }
  }
  return { applied: due.length - failed.length, failed };
}
