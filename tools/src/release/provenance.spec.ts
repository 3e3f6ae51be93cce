import { expect, test } from '@jest/globals';
import { provenanceOf, type Build } from './provenance.ts';

const BUILD: Build = {
  version: '1.2.3',
  commit: 'c'.repeat(40),
  repository: 'https://git.example/tollgate.git',
  lockfile: { name: 'pnpm-lock.yaml', sha256: 'a'.repeat(64) },
  subjects: [
    { name: 'tollgate-1.2.3.tgz', sha256: 'b'.repeat(64) },
    { name: 'tollgate-1.2.3.cdx.json', sha256: 'd'.repeat(64) },
  ],
  builder: 'https://ci.example/release',
  finishedAt: new Date('2026-11-22T10:00:00Z'),
};

test('a statement names every file by its digest, the commit, the lockfile and the builder', () => {
  expect(provenanceOf(BUILD)).toEqual({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [
      { name: 'tollgate-1.2.3.tgz', digest: { sha256: 'b'.repeat(64) } },
      { name: 'tollgate-1.2.3.cdx.json', digest: { sha256: 'd'.repeat(64) } },
    ],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:tollgate:build:release:v1',
        externalParameters: { version: '1.2.3' },
        internalParameters: {},
        resolvedDependencies: [
          {
            uri: 'git+https://git.example/tollgate.git@refs/tags/v1.2.3',
            digest: { gitCommit: 'c'.repeat(40) },
          },
          { name: 'pnpm-lock.yaml', digest: { sha256: 'a'.repeat(64) } },
        ],
      },
      runDetails: {
        builder: { id: 'https://ci.example/release' },
        metadata: { finishedOn: '2026-11-22T10:00:00.000Z' },
      },
    },
  });
});

test.each([
  ['https://user:secret@git.example/a.git', 'git+https://git.example/a.git@refs/tags/v1.2.3'],
  ['git@git.example:a.git', 'git+ssh://git@git.example/a.git@refs/tags/v1.2.3'],
  [null, 'git:tollgate@refs/tags/v1.2.3'],
])('a repository at %j is named without a password', (repository, uri) => {
  expect(JSON.stringify(provenanceOf({ ...BUILD, repository }))).toContain(`"uri":"${uri}"`);
});
