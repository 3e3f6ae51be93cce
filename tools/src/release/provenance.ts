/** A file that was built, or read while building, by the digest of its content. */
export interface Digested {
  readonly name: string;
  readonly sha256: string;
}

export interface Build {
  readonly version: string;
  /** Of the tag `v<version>`. */
  readonly commit: string;
  /** Address of the repository; null for a checkout without one. */
  readonly repository: string | null;
  readonly lockfile: Digested;
  /** What the release consists of: images, chart, archives, bill of materials. */
  readonly subjects: readonly Digested[];
  /** Who built it, as a URI. */
  readonly builder: string;
  readonly finishedAt: Date;
}

/** An in-toto statement with SLSA's provenance, version 1: which commit and which lockfile the files are from. */
export function provenanceOf(build: Build): object {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: build.subjects.map(withDigest),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:tollgate:build:release:v1',
        externalParameters: { version: build.version },
        internalParameters: {},
        resolvedDependencies: [
          {
            uri: `${sourceUri(build.repository)}@refs/tags/v${build.version}`,
            digest: { gitCommit: build.commit },
          },
          withDigest(build.lockfile),
        ],
      },
      runDetails: {
        builder: { id: build.builder },
        metadata: { finishedOn: build.finishedAt.toISOString() },
      },
    },
  };
}

function withDigest({ name, sha256 }: Digested): object {
  return { name, digest: { sha256 } };
}

/** Without the user and password that an address may have. */
function sourceUri(repository: string | null): string {
  if (repository === null) return 'git:tollgate';
  if (!URL.canParse(repository)) return `git+ssh://${repository.replace(':', '/')}`;
  const url = new URL(repository);
  url.username = '';
  url.password = '';
  return `git+${url.href}`;
}
