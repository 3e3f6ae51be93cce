import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { en } from '../../apps/console/src/words/en.ts';
import { zh } from '../../apps/console/src/words/zh.ts';
import { judge, RULE_NAMES, type Source } from './console-rules.ts';

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

/** Entries with a text that both languages rightly share: names, and what is figures alone. */
const SHARED =
  /^(Tollgate|UTC|CSV|API|OpenAI( SDK)?|Anthropic( SDK)?|Claude Code|Codex|JSON|tokens|English|中文|[\W\d_]*)$/;

test('every text is translated, and none into nothing', () => {
  const missing: string[] = [];
  const compare = (left: object, right: object, place: string): void => {
    expect(Object.keys(right).sort()).toEqual(Object.keys(left).sort());
    for (const [name, text] of Object.entries(left)) {
      const other: unknown = Object.entries(right).find(([key]) => key === name)?.[1];
      const at = `${place}${name}`;
      if (typeof text === 'object' && text !== null) compare(text, Object(other), `${at}.`);
      else if (typeof text === 'string' && (other === '' || isUntranslated(text, other)))
        missing.push(at);
    }
  };
  compare(en, zh, '');
  expect(missing).toEqual([]);
});

function isUntranslated(text: string, other: unknown): boolean {
  return text === other && !SHARED.test(text) && !/^[\w.-]+$/.test(text);
}
