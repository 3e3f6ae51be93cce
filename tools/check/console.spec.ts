import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import {
  EQUALITIES,
  LIVE_BALANCES,
  RULES,
} from '../../apps/control-plane/src/features/books/equalities.ts';
import { REFUSALS } from '../../apps/control-plane/src/platform/http/refusals.ts';
import { actionName } from '../../apps/console/src/features/admin-activity/actions.ts';
import { WORDED_EQUALITIES } from '../../apps/console/src/features/admin-books/equalities.ts';
import { en } from '../../apps/console/src/words/en.ts';
import { zh } from '../../apps/console/src/words/zh.ts';
import { judge, RULE_NAMES, untranslated, type Source } from './console-rules.ts';

const root = path.join(import.meta.dirname, '../..');

function sourcesBelow(folder: string): Source[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(tsx?|css)$/.test(name) && !name.endsWith('.spec.ts'))
    .map((name) => ({
      path: name.replaceAll(path.sep, '/'),
      text: readFileSync(path.join(root, folder, name), 'utf8'),
    }));
}

test('pages ask through api/, take addresses from paths.ts, colours from tokens.css and words from the catalogue', () => {
  expect(sourcesBelow('apps/console/src').flatMap(judge)).toEqual([]);
});

test('each rule of the console reports the violation planted for it', () => {
  const found = sourcesBelow('tools/check/planted/apps/console/src').flatMap(judge);
  for (const rule of RULE_NAMES)
    expect(found.filter((violation) => violation.includes(`: ${rule}: `)).length).toBeGreaterThan(
      0,
    );
});

test('every text is translated, and none into nothing', () => {
  expect(untranslated(en, zh)).toEqual([]);
});

test('a text that is missing, empty, left in English or of no other language is reported', () => {
  const english = { title: 'Usage', list: { empty: 'No requests here', all: 'All of them' } };
  expect(untranslated(english, { title: '用量', list: { empty: '没有请求' } })).toEqual([
    'list.all',
  ]);
  expect(
    untranslated(english, {
      title: '',
      list: { empty: 'No requests here', all: '全部', more: '更多' },
    }),
  ).toEqual(['title', 'list.empty', 'list.more']);
});

/** Lists codes for programs alone: no form of the console meets them, or any server's failure has the same words. */
const FOR_PROGRAMS = new Set([
  'malformed_json',
  'invalid_cursor',
  'method_not_allowed',
  'unsupported_media_type',
  'token_scope',
  'invalid_signature',
  'internal_error',
]);

test('each refusal that a person can meet has words in the catalogue', () => {
  const worded: Readonly<Record<string, string>> = en.failures.codes;
  const missing = Object.keys(REFUSALS).filter(
    (code) => worded[code] === undefined && !FOR_PROGRAMS.has(code),
  );
  expect(missing).toEqual([]);
  expect(Object.keys(worded).filter((code) => !(code in REFUSALS))).toEqual([]);
});

test('each equality of the books has words in the catalogue', () => {
  const names = [...Object.keys(EQUALITIES), ...Object.keys(RULES), LIVE_BALANCES.name];
  expect(WORDED_EQUALITIES.toSorted()).toEqual(names.toSorted());
});

/** Holds the verbs of actions whose names are composed, by the template in the source. */
const COMPOSED: Readonly<Record<string, readonly string[]>> = {
  'budget.${kind}': ['grant', 'reset'],
  "dead_letter.${resolution === 'dismissed' ? 'dismiss' : 'book'}": ['book', 'dismiss'],
  'payout.${change.status}': ['failed', 'paid'],
  'upstream.credential_${act}': ['create', 'delete', 'update'],
  'user.${move}': ['approve', 'delete', 'freeze', 'reject', 'unfreeze'],
  'wallet.${kind}': ['adjustment', 'payout'],
};

test('each action that the activity log records has words', () => {
  const named = (pattern: RegExp): string[] =>
    sourcesBelow('apps/control-plane/src/features').flatMap(({ text }) =>
      [...text.matchAll(pattern)].map(([, action = '']) => action),
    );
  expect(new Set(named(/action: `([^`]+)`/g))).toEqual(new Set(Object.keys(COMPOSED)));
  const composed = Object.entries(COMPOSED).flatMap(([template, verbs]) =>
    verbs.map((verb) => template.replace(/\$\{.*\}/, verb)),
  );
  const recorded = [...named(/action: '([a-z_-]+\.[a-z_-]+)'/g), ...composed];
  expect(recorded.length).toBeGreaterThan(40);
  expect(recorded.filter((action) => actionName(action, 'en') === action)).toEqual([]);
});
