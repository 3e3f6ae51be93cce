import { expect, test } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root, tracked, read } from './tracked-files.ts';

test('every relative link in the documentation leads somewhere', () => {
  const broken = tracked
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) =>
      [...read(file).matchAll(/\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)]*)?\)/g)]
        .map((match) => match[1] as string)
        .filter((target) => !existsSync(join(root, dirname(file), target)))
        .map((target) => `${file} -> ${target}`),
    );
  expect(broken).toEqual([]);
});

/** Is the one file outside the repository that a test may read; the test says that it is skipped without it. */
const READ_BESIDE_THE_REPOSITORY = 'tests/e2e/src/endpoints/spec-endpoints.spec.ts';

/** Headings as GitHub turns them into anchors. */
function anchorsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function brokenReferences(file: string, text: string): string[] {
  return [...text.matchAll(/(?<![\w/.-])((?:[\w.-]+\/)*[\w-]+\.md)(#[\w-]+)?/g)]
    .filter(([, target = '', anchor]) => {
      const full = [root, join(root, dirname(file)), join(root, 'docs')]
        .map((folder) => join(folder, target))
        .find((candidate) => existsSync(candidate));
      if (full === undefined) return true;
      return (
        anchor !== undefined && !anchorsOf(readFileSync(full, 'utf8')).includes(anchor.slice(1))
      );
    })
    .map(([reference]) => `${file} -> ${reference}`);
}

test('every document that code or a comment names is in the repository, with the section it names', () => {
  const code = tracked.filter(
    (file) =>
      /\.(ts|tsx|mjs|cjs|lua|sh|yml)$/.test(file) &&
      !/tools\/check\/planted|prose\.spec/.test(file) &&
      file !== READ_BESIDE_THE_REPOSITORY,
  );
  expect(code.flatMap((file) => brokenReferences(file, read(file)))).toEqual([]);
  const planted = '/** As design.md says, and docs/design/metering.md#no-such-section. */';
  expect(brokenReferences('libs/metering/src/charge.ts', planted)).toHaveLength(2);
});

test('every section that a link of the documentation names exists', () => {
  const broken = tracked
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) =>
      [...read(file).matchAll(/\]\(((?!https?:|mailto:)[^)\s#]*)#([^)\s]+)\)/g)]
        .filter(([, target = '', anchor = '']) => {
          const full = target === '' ? join(root, file) : join(root, dirname(file), target);
          if (!existsSync(full) || !full.endsWith('.md')) return false;
          return !anchorsOf(readFileSync(full, 'utf8')).includes(anchor);
        })
        .map(([reference]) => `${file} -> ${reference}`),
    );
  expect(broken).toEqual([]);
});

/** Lists words of a style that readers with English as a second language cannot read quickly: CONTRIBUTING.md asks for plain technical English. */
const QUAINT =
  /\b(told|tells|nobody|whoever|somebody|himself|herself|his|shall|mend|mends|mended|mending|for ever|says again|said again|lets? in|let down|anybody|everybody|in vain|anew|all the same|without a word|last[ _]?word)\b/giu;

function quaintWords(text: string): string[] {
  // In quotes it is the Unix user of that name.
  return text.replaceAll(/(['"`])nobody\1/g, '').match(QUAINT) ?? [];
}

test('documents, comments, texts and names are in plain technical English', () => {
  const prose = tracked.filter(
    (file) =>
      /\.(md|ts|tsx|mjs|cjs|js|css|lua|sh|ya?ml|html)$/.test(file) &&
      !/(^|\/)migrations\/|prose\.spec\.ts$|^pnpm-lock\.yaml$/.test(file),
  );
  const found = prose.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) => quaintWords(line).map((word) => `${file}:${index + 1} ${word}`)),
  );
  expect(found).toEqual([]);
  const planted =
    "// Nobody tells 'nobody' twice: whoever has mended his node shall be let in. LAST_WORD in vain for everybody, all the same anew.";
  expect(quaintWords(planted)).toEqual([
    'Nobody',
    'tells',
    'whoever',
    'mended',
    'his',
    'shall',
    'let in',
    'LAST_WORD',
    'in vain',
    'everybody',
    'all the same',
    'anew',
  ]);
});

/** Phrases with a plainer word: returns, continues, permanently, at least, despite, again, in progress, for lack of, checked. */
const WORDY =
  /\b((?:comes?|came|coming) back|(?<!in one )(?<!one )(?:goes|go|went|gone|going) on\b(?! a\b)|for good\b(?! reason)|at the least|in spite of|once more|under way|for want of|looked at|as good as|for ever|is a promise of|as the books have it|what is left is)\b/giu;

/** Names of tests and what only tests read may keep such a phrase. */
const isShipped = (file: string): boolean =>
  !/\.spec\.ts$|^tests\/|\/test\/|(^|\/)migrations\/|^pnpm-lock\.yaml$/.test(file);

test('documents, comments and messages of the product use the plain word for a phrase', () => {
  const prose = tracked.filter(
    (file) => /\.(md|ts|tsx|mjs|cjs|js|css|lua|sh|ya?ml|html)$/.test(file) && isShipped(file),
  );
  const found = prose.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) =>
        (line.match(WORDY) ?? []).map((phrase) => `${file}:${index + 1} ${phrase}`),
      ),
  );
  expect(found).toEqual([]);
  const planted = 'It comes back and goes on for good, in spite of what was looked at once more.';
  expect(planted.match(WORDY)).toEqual([
    'comes back',
    'goes on',
    'for good',
    'in spite of',
    'looked at',
    'once more',
  ]);
});

/** Matches words that open a fragment: a comment states its subject, or begins with what the code does ("Returns ..."). */
const FRAGMENT =
  /(?:\/\*\*|(?<![:\w])\/\/|^\s*\*|--)\s+(As|What|Of|Whether|Which|How|Where|Why|Whose|Who)\s/gmu;

test('no comment opens with a fragment', () => {
  const code = tracked.filter(
    (file) =>
      /\.(ts|tsx|mjs|lua)$/.test(file) &&
      !/(^|\/)(migrations|__generated__)\/|prose\.spec\.ts$/.test(file),
  );
  const found = code.flatMap((file) =>
    [...read(file).matchAll(FRAGMENT)].map(([opening]) => `${file}: ${opening.trim()}`),
  );
  expect(found).toEqual([]);
  const planted =
    '/** What follows. */\n// Of the key.\n * Whether it is open.\n-- How many.\n// As Redis counts.\n';
  expect(planted.match(FRAGMENT)).toHaveLength(5);
  expect('// Returns how many.\nhttps://x//Why y'.match(FRAGMENT)).toBe(null);
});
