import type { Config } from 'jest';

/** Its modules would be those of the first run, or without counters. */
const needsOwnModules = process.argv.some((arg) => /^--(watch|coverage)/.test(arg));

/** Tests run from sources: `@tollgate/x` maps to that library's front door, so no build stands between a change and its spec. */
const config: Config = {
  roots: [
    '<rootDir>/apps',
    '<rootDir>/bench',
    '<rootDir>/libs',
    '<rootDir>/tests',
    '<rootDir>/tools',
  ],
  // Long suites run by `npm run test:long`.
  testMatch: ['**/*.spec.ts', '!**/*.long.spec.ts'],
  // Parts are imported by the spec of their feature, which starts one control plane for all of them.
  testPathIgnorePatterns: ['/node_modules/', '/dist/', '\\.part\\.spec\\.ts$'],
  modulePathIgnorePatterns: ['/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^@tollgate/(money|contracts|snapshot|metering|protocols|keyspace|admin-client|tracing|outbound)$':
      '<rootDir>/libs/$1/src/index.ts',
    '^@tollgate/metering/token-counter$': '<rootDir>/libs/metering/src/token-counter.ts',
    '^@tollgate/demo-upstream$': '<rootDir>/apps/demo-upstream/src/index.ts',
    '^@tollgate/(tools)$': '<rootDir>/$1/src/index.ts',
    '^@tollgate/(harness)$': '<rootDir>/tests/$1/src/index.ts',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2024',
          parser: { syntax: 'typescript', decorators: true },
          transform: {
            legacyDecorator: true,
            decoratorMetadata: true,
            useDefineForClassFields: false,
          },
        },
        module: { type: 'es6' },
      },
    ],
  },
  // Most suites wait for processes and sockets more than they compute.
  maxWorkers: 4,
  testSequencer: '<rootDir>/tests/runner/size-sequencer.ts',
  // A worker evaluates each module once for all of its suites, which is half of what the quick suite costs (docs/decisions/0023-suites-share-modules.md).
  ...(needsOwnModules
    ? { testEnvironment: 'node' }
    : {
        testEnvironment: '<rootDir>/tests/runner/shared-environment.ts',
        runtime: '<rootDir>/tests/runner/shared-runtime.ts',
      }),
  testTimeout: 30_000,
};

export default config;
