import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ALERT_SENTENCES } from '../../../apps/console/src/words/alert-sentences.ts';
import { fieldFaults } from '../../../apps/console/src/words/zh/field-faults.ts';
import { ADMIN_FORMS, CUSTOMER_FORMS, GUEST_FORMS, NOT_SENT } from './wrong-forms.ts';
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

test('every rule of the API document that a field can break has words in Chinese', () => {
  const document = path.join(import.meta.dirname, '../../../libs/admin-client/openapi.json');
  const rules = new Set<string>();
  JSON.parse(readFileSync(document, 'utf8'), (key, value: unknown) => {
    if (key === 'x-rules') for (const rule of value as string[]) rules.add(rule);
    return value;
  });
  expect(rules.size).toBeGreaterThan(40);
  expect([...rules].filter((rule) => fieldFaults.rule(rule) === rule)).toEqual([]);
});

test('every message that a pattern of a field has has words in Chinese', () => {
  const source = path.join(import.meta.dirname, '../../../apps/control-plane/src');
  const messages = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?:dto|-field)\.ts$/.test(file))
    .flatMap((file) => [...readFileSync(path.join(source, file), 'utf8').matchAll(PATTERN)])
    .map(([, message = '']) => message);
  expect(messages.length).toBeGreaterThan(3);
  expect(messages.filter((message) => fieldFaults.rule(message) === message)).toEqual([]);
});

test('every form is sent wrong in Chinese by a browser, or has a reason', () => {
  const features = path.join(import.meta.dirname, '../../../apps/console/src/features');
  const drawn = readdirSync(features, { recursive: true, encoding: 'utf8' }).filter(
    (file) =>
      file.endsWith('.tsx') &&
      /<(?:FormDialog|ActForm|form)\b/.test(readFileSync(path.join(features, file), 'utf8')),
  );
  const sent = [...ADMIN_FORMS, ...CUSTOMER_FORMS, ...GUEST_FORMS].map(({ file }) => file);
  expect([...new Set([...sent, ...Object.keys(NOT_SENT)])].toSorted()).toEqual(drawn.toSorted());
  expect(sent.filter((file) => file in NOT_SENT)).toEqual([]);
});

/** Matches the message of a pattern: `.regex(NAME, 'must be …')`. */
const PATTERN = /\.regex\(\s*[^']*?,\s*'([^']+)'/g;

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
