import { expect, test } from '@jest/globals';
import { releaseChanges } from './changes.ts';

const MANIFEST = '{\n  "name": "tollgate",\n  "version": "0.9.1",\n  "private": true\n}\n';
const CHART = 'apiVersion: v2\nversion: 0.9.1\nappVersion: 0.9.1\n';
const CHANGELOG =
  '# Changelog\n\n## Unreleased\n\n### Added\n- A thing.\n\n## 0.9.1 - 2026-01-01\n\n### Fixed\n- Another.\n';
const FILES = new Map([
  ['package.json', MANIFEST],
  ['apps/cli/package.json', MANIFEST],
  ['deploy/helm/tollgate/Chart.yaml', CHART],
  ['CHANGELOG.md', CHANGELOG],
]);
const release = (version: string, files = FILES): Map<string, string> =>
  new Map(
    releaseChanges(files, { version, date: '2026-11-22' }).map(({ file, after }) => [file, after]),
  );

test('a release gives one number to packages, images and chart', () => {
  const changed = release('0.10.0');
  expect([...changed.keys()].toSorted()).toEqual([...FILES.keys()].toSorted());
  for (const file of ['package.json', 'apps/cli/package.json'])
    expect(changed.get(file)).toBe(MANIFEST.replace('0.9.1', '0.10.0'));
  expect(changed.get('deploy/helm/tollgate/Chart.yaml')).toBe(CHART.replaceAll('0.9.1', '0.10.0'));
});

test('what is unreleased becomes that of the version, above the earlier ones; nothing is lost', () => {
  expect(release('1.0.0').get('CHANGELOG.md')).toBe(
    '# Changelog\n\n## Unreleased\n\n## 1.0.0 - 2026-11-22\n\n### Added\n- A thing.\n\n## 0.9.1 - 2026-01-01\n\n### Fixed\n- Another.\n',
  );
});

test('the version of the packages is released once: the first release', () => {
  const first = new Map([...FILES, ['CHANGELOG.md', CHANGELOG.replace(/## 0\.9\.1[^]*/, '')]]);
  expect([...release('0.9.1', first)]).toEqual([
    [
      'CHANGELOG.md',
      '# Changelog\n\n## Unreleased\n\n## 0.9.1 - 2026-11-22\n\n### Added\n- A thing.\n\n',
    ],
  ]);
});

test.each(['0.9.1', '0.9.0', '0.8.9', '1.0', 'v1.0.0', '1.0.0-beta', ''])(
  'the version %j is refused',
  (version) => {
    expect(() => release(version)).toThrow('is not a version after 0.9.1');
  },
);

test.each([
  ['nothing', CHANGELOG.replace('### Added\n- A thing.\n\n', '')],
  ['no such part', CHANGELOG.replace('## Unreleased\n', '')],
])('a changelog with %s to release is refused', (_, changelog) => {
  expect(() => release('1.0.0', new Map([...FILES, ['CHANGELOG.md', changelog]]))).toThrow(
    'nothing under "Unreleased"',
  );
});
