import { expect, test } from '@jest/globals';
import { read, tracked } from './tracked-files.ts';

test('every dependency is pinned to one version (S49)', () => {
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

/** Returns what is wrong with the sections of a changelog, when the packages have this version. */
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
