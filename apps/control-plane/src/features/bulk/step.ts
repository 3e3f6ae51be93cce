import { createHash } from 'node:crypto';
import { Logger } from '@nestjs/common';
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

const logger = new Logger('bulk');
const UNEXPECTED = { code: 'internal_error', message: 'It failed; the log has the reason' };

/** Runs the steps that are not blocked, in order. A step that fails does not stop the others: what was done before it is known only from the answer. */
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
      const { kind, id, name } = step;
      if (!(error instanceof Refusal)) logger.error(error, `${kind} ${name} failed`);
      const { code, message } = error instanceof Refusal ? error : UNEXPECTED;
      failed.push({ kind, id, name, code, message });
    }
  }
  return { applied: due.length - failed.length, failed };
}
