import { expect, test } from '@jest/globals';
import { ALERT_SENTENCES } from '../../../apps/console/src/words/alert-sentences.ts';
import {
  ALERT_KINDS,
  ALERT_RULES,
} from '../../../apps/control-plane/src/features/alerts/alert-rules.ts';

test('every alert that the control plane raises has a sentence in Chinese, and no sentence is of an alert that it does not raise', () => {
  const kinds: Readonly<Record<string, readonly string[]>> = ALERT_KINDS;
  const raised = Object.keys(ALERT_RULES).flatMap(
    (rule) => kinds[rule]?.map((kind) => `${rule}.${kind}`) ?? [rule],
  );
  expect(Object.keys(ALERT_SENTENCES.zh).toSorted()).toEqual(raised.toSorted());
});
