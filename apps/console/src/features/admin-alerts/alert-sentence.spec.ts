import { expect, test } from '@jest/globals';
import { ALERT_SENTENCES } from '../../words/alert-sentences.ts';
import { alertSentence } from './alert-sentence.ts';

const alert = {
  rule: 'overdraft' as const,
  subject: 'subscription:7',
  subject_name: null,
  message: 'Subscription 7 used or withdrew 12345 tokens beyond its balance',
  detail: { tokens: 12_345 },
};
const zh = { sentences: ALERT_SENTENCES.zh, locale: 'zh-CN' };

test('an alert is said in the language of the page, with its figures', () => {
  expect(alertSentence(alert, zh)).toBe('使用或取出的 token 超出余额 12,345 个；已记为透支');
  expect(
    alertSentence({ ...alert, rule: 'drift', detail: { kind: 'below', difference: 5 } }, zh),
  ).toBe('Redis 中的余额比账本少 5 个 token；已修复');
  expect(
    alertSentence(
      { ...alert, rule: 'node_offline', subject: 'node:1', subject_name: 'node-1', detail: {} },
      zh,
    ),
  ).toBe('节点 node-1 已 10 秒没有报告');
});

test('the server says it where a figure is missing, a kind is unknown or the catalogue has no sentence', () => {
  expect(alertSentence({ ...alert, detail: {} }, zh)).toBe(alert.message);
  expect(alertSentence({ ...alert, rule: 'drift', detail: { kind: 'new' } }, zh)).toBe(
    alert.message,
  );
  expect(alertSentence(alert, { sentences: ALERT_SENTENCES.en, locale: 'en' })).toBe(alert.message);
});
