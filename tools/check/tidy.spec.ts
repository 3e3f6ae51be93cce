import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** House rules that no linter knows. Each test names the rule it keeps. */
const root = join(import.meta.dirname, '../..');
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const sources = tracked.filter(
  (file) =>
    /\.(ts|tsx|mjs|cjs|lua)$/.test(file) &&
    !/tools\/check\/planted\/|\.spec\.ts$|__generated__\/|\/migrations\//.test(file),
);
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const FILE_LINES_MAX = 300;
/** What is shipped or runs the house; the others test and measure it. */
const isProduct = (file: string): boolean =>
  /^((apps|libs)\/[^/]+|tools)\/src\//.test(file) && !file.includes('/testing/');
/** Test files that exceeded the limit when the formatter arrived. Split them; do not add to the list. */
const TEST_FILES_TO_SPLIT = [
  'libs/keyspace/test/checks-admission.ts',
  'libs/keyspace/test/checks-records.ts',
  'libs/keyspace/test/loss-run.ts',
  'libs/keyspace/test/model-run.ts',
  'libs/keyspace/test/reference-model.ts',
  'tests/chaos/src/scenarios/slow-clients.ts',
  'tests/chaos/src/scenarios/streams.ts',
  'tests/conformance/src/faults/fault-table.ts',
  'tests/e2e/src/endpoints/fleet-cases.ts',
  'tests/harness/src/tollgate.ts',
];

const isTooLong = (text: string): boolean =>
  text.replace(/\n$/, '').split('\n').length > FILE_LINES_MAX;
const tooLong = sources.filter((file) => isTooLong(read(file))).toSorted();

test('no product file is longer than 300 lines, without exception', () => {
  expect(tooLong.filter(isProduct)).toEqual([]);
  expect(sources.filter(isProduct).length).toBeGreaterThan(1_000);
  // Planted: the longest file that passes, and one more line.
  expect(isTooLong('line\n'.repeat(300))).toBe(false);
  expect(isTooLong('line\n'.repeat(301))).toBe(true);
  expect(isProduct('apps/proxy-node/src/wire.ts')).toBe(true);
  expect(isProduct('tools/src/check.ts')).toBe(true);
});

test('no further test file is longer than 300 lines', () => {
  expect(tooLong.filter((file) => !isProduct(file))).toEqual(TEST_FILES_TO_SPLIT);
});

/** What more takes is two services, or a part of one. */
const CONSTRUCTOR_PARAMETERS_MAX = 8;

/** How many parameters each constructor of this text has. */
function constructorParameters(text: string): number[] {
  return [...text.matchAll(/\bconstructor\(/g)].map(({ index, 0: { length } }) => {
    let depth = 1;
    let commas = 0;
    let parameter = '';
    for (let at = index + length; depth > 0 && at < text.length; at += 1) {
      const sign = text.charAt(at);
      if ('([{<'.includes(sign)) depth += 1;
      // The arrow of a function type closes nothing.
      if (')]}'.includes(sign) || (sign === '>' && text.charAt(at - 1) !== '=')) depth -= 1;
      const isBetween = sign === ',' && depth === 1;
      if (isBetween) commas += 1;
      if (depth > 0) parameter = isBetween ? '' : parameter + sign;
    }
    return parameter.trim() === '' ? commas : commas + 1;
  });
}

test('no constructor of the product takes more than eight parameters', () => {
  const many = sources.filter(
    (file) =>
      isProduct(file) &&
      constructorParameters(read(file)).some((count) => count > CONSTRUCTOR_PARAMETERS_MAX),
  );
  expect(many).toEqual([]);
  const planted = `constructor(
    @Inject(A) private readonly a: Map<string, number>, b: { c: C; d: D }, c: (x: X, y: Y) => void,
    d: D, e: E, f: F, g: G, h: H, i = new I(),
  ) {} constructor() {}`;
  expect(constructorParameters(planted)).toEqual([9, 0]);
});

test('no file is named after nothing', () => {
  expect(
    tracked.filter((file) =>
      /\/(utils?|helpers?|commons?|misc|types)\.(ts|tsx|mjs|js)$/.test(file),
    ),
  ).toEqual([]);
});

test('file names are kebab-case', () => {
  const odd = sources.filter(
    (file) => !/^[a-z0-9.-]+$/.test(file.slice(file.lastIndexOf('/') + 1)),
  );
  expect(odd).toEqual([]);
});

test('index.ts is a front door of a package, nothing else', () => {
  const inner = sources.filter(
    (file) =>
      /(^|\/)index\.ts$/.test(file) &&
      !/^((libs|apps|tests)\/[^/]+|tools)\/src\/index\.ts$/.test(file),
  );
  expect(inner).toEqual([]);
});

test('nothing is left undone in the code', () => {
  const marks = new RegExp(
    [
      'TO' + 'DO',
      'FIX' + 'ME',
      'not imple' + 'mented',
      '@ts-ig' + 'nore',
      '@ts-expect-' + 'error',
    ].join('|'),
  );
  expect(sources.filter((file) => marks.test(read(file)))).toEqual([]);
});

test('no test is skipped for good or alone for long', () => {
  const specs = tracked.filter((file) => file.endsWith('.spec.ts') && !file.includes('tidy.spec'));
  expect(
    specs.filter((file) => /\b(test|describe|it)\.only\(|\bx(test|it|describe)\(/.test(read(file))),
  ).toEqual([]);
});

test('the repository names no registry host and no path of a machine', () => {
  const text = tracked.filter(
    (file) => !/\.(png|svg|ico)$/.test(file) && !file.includes('tidy.spec'),
  );
  const hosts = new RegExp(
    ['registry\\.npm' + 'js\\.org', '/work/' + '(main|shared)', '/ro' + 'ot/'].join('|'),
  );
  expect(text.filter((file) => hosts.test(read(file)))).toEqual([]);
});

test('every dependency is pinned to one version', () => {
  const loose = tracked
    .filter((file) => file.endsWith('package.json') && !file.includes('planted'))
    .flatMap((file) => {
      const manifest = JSON.parse(read(file)) as Record<string, Record<string, string> | undefined>;
      const all = {
        ...manifest.dependencies,
        ...manifest.devDependencies,
        ...manifest.optionalDependencies,
      };
      return Object.entries(all)
        .filter(([, version]) => !/^(workspace:\*|\d+\.\d+\.\d+(-[\w.]+)?)$/.test(version))
        .map(([name, version]) => `${file}: ${name} ${version}`);
    });
  expect(loose).toEqual([]);
});

test('what tests and measurements need is no part of a start: beyond what the product installs, they have devDependencies alone', () => {
  const brought = (file: string): string[] => {
    const manifest = JSON.parse(read(file)) as Record<string, Record<string, string> | undefined>;
    const { dependencies, optionalDependencies } = manifest;
    return Object.entries({ ...dependencies, ...optionalDependencies }).map((pair) =>
      pair.join(' '),
    );
  };
  const manifests = tracked.filter((file) => file.endsWith('package.json'));
  const isTest = (file: string): boolean => /^(tests\/[^/]+|bench)\/package\.json$/.test(file);
  const isProduct = (file: string): boolean => /^((apps|libs)\/[^/]+|tools)\//.test(file);
  const ofProduct = new Set(manifests.filter(isProduct).flatMap(brought));
  const isOfProduct = (name: string): boolean =>
    ofProduct.has(name) || name === '@tollgate/tools workspace:*';
  const installed = manifests
    .filter(isTest)
    .flatMap((file) => brought(file).filter((name) => !isOfProduct(name)));
  expect(installed).toEqual([]);
});

test('every package carries the version of the release', () => {
  const versions = tracked
    .filter((file) =>
      /^(package\.json|((apps|libs|tests)\/[^/]+|tools|bench)\/package\.json)$/.test(file),
    )
    .map((file) => (JSON.parse(read(file)) as { version: string }).version);
  expect(versions.length).toBeGreaterThan(10);
  expect(new Set(versions).size).toBe(1);
});

/** What is wrong with the sections of a changelog, when the packages have this version. */
function changelogFaults(text: string, version: string): string[] {
  const sections = [...text.matchAll(/^## (.+)$/gm)].map(([, title = '']) => title);
  const [first, ...released] = sections;
  const numbers = released.map((title) => /^(\d+)\.(\d+)\.(\d+) - \d{4}-\d\d-\d\d$/.exec(title));
  const weights = numbers.map((match) =>
    match ? Number(match[1]) * 1e6 + Number(match[2]) * 1e3 + Number(match[3]) : Number.NaN,
  );
  return [
    ...(first === 'Unreleased' ? [] : ['the first section is not Unreleased']),
    ...(weights.some(Number.isNaN) ? ['a section is no version with its date'] : []),
    ...(weights.some((weight, index) => weight <= (weights[index + 1] ?? -1))
      ? ['versions are not in order, newest first']
      : []),
    ...(released[0] !== undefined && !released[0].startsWith(`${version} `)
      ? ['the newest section is not the version of the packages']
      : []),
  ];
}

test('CHANGELOG.md has a section for each version, newest first, and the newest is that of the packages', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  expect(changelogFaults(read('CHANGELOG.md'), version)).toEqual([]);
  const good = '## Unreleased\n## 1.3.0 - 2026-02-01\n## 1.2.9 - 2026-01-01\n';
  expect(changelogFaults(good, '1.3.0')).toEqual([]);
  const planted = '## 1.2.9 - 2026-01-01\n## 1.3.0\n## 1.2.0 - 2025-01-01\n## 1.4.0 - 2025-02-01\n';
  expect(changelogFaults(planted, '1.4.0')).toHaveLength(4);
});

test('pnpm has one version, wherever it is called', () => {
  const versions = tracked
    .filter((file) => /(package\.json|bootstrap\.mjs|Dockerfile)$/.test(file))
    .flatMap((file) =>
      [...read(file).matchAll(/(?:pnpm@|PNPM_VERSION = ')(\d+\.\d+\.\d+)/g)].map(
        ([, version]) => version,
      ),
    );
  expect(versions.length).toBeGreaterThanOrEqual(3);
  expect(new Set(versions).size).toBe(1);
});

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

/** The one file outside the repository that a test may read; the test says that it is skipped without it. */
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
      !/tools\/check\/planted|tidy\.spec/.test(file) &&
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

/** Words of a style that readers with English as a second language cannot read quickly: CONTRIBUTING.md asks for plain technical English. */
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
      !/(^|\/)migrations\/|tidy\.spec\.ts$|^pnpm-lock\.yaml$/.test(file),
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
