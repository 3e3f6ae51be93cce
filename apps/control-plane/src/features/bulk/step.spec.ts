import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Refusal } from '../../platform/http/refusal.ts';
import { applySteps, stepOf } from './step.ts';

beforeAll(() => Logger.overrideLogger(false));
afterAll(() => Logger.overrideLogger(true));

const steps = [1, 2, 3].map((id) =>
  stepOf({ action: 'change', kind: 'key', id, name: `k${id}` }, {}),
);

test('a step that fails unexpectedly stops no other, and its reason is only in the log', async () => {
  const ran: unknown[] = [];
  const outcome = await applySteps(steps, async ({ id }) => {
    ran.push(id);
    if (id === 1) throw new Error('connect ECONNREFUSED 10.0.0.7:5432');
    if (id === 2) throw new Refusal('not_found');
  });
  expect(ran).toEqual([1, 2, 3]);
  expect(outcome).toMatchObject({
    applied: 1,
    failed: [
      { id: 1, code: 'internal_error', message: 'It failed; the log has the reason' },
      { id: 2, code: 'not_found' },
    ],
  });
});
