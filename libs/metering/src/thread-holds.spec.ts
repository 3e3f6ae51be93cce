import { expect, test } from '@jest/globals';
import { ask, CHAT, PROMPT, TERMS } from '../test/hold-requests.ts';
import { planHold } from './hold-plan.ts';

test('a turn of a thread holds the last prompt and what was answered to it, at most the window', () => {
  const thread = { promptTokens: 5_000, outputTokens: 700 };
  const continued = ask({ prompt: { ...PROMPT, thread } });
  const plan = planHold({ ask: continued, model: CHAT, ...TERMS });
  expect(plan).toMatchObject({ promptBound: 164 + 5_700, bounds: { promptTokens: 164 + 5_700 } });
  const model = { ...CHAT, context_window: 5_100 };
  expect(planHold({ ask: continued, model, ...TERMS }).promptBound).toBe(164 + 5_100);
});
