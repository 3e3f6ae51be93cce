import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
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

const FOLDER = path.join(import.meta.dirname, '../../../apps/console/src/words');

test('sentences have full-width punctuation', () => {
  const files = [
    'alert-sentences.ts',
    ...readdirSync(path.join(FOLDER, 'zh')).map((name) => path.join('zh', name)),
  ];
  const halfWidth = files.flatMap((file) =>
    readFileSync(path.join(FOLDER, file), 'utf8')
      .split('\n')
      .filter((line) => /\p{Script=Han}[,;:?!()]|[,;:()]\p{Script=Han}/u.test(line)),
  );
  expect(halfWidth).toEqual([]);
});
