import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type JestRuntimeModule from 'jest-runtime';
import type SharedEnvironment from './shared-environment.ts';
import { importSpec, type SuiteGlobals } from './shared-modules.ts';

type RuntimeArguments = ConstructorParameters<typeof JestRuntimeModule.default>;
type FakeTimers = Parameters<SharedEnvironment['fakeTimersModern']['useFakeTimers']>[0];

const require = createRequire(import.meta.filename);
const { default: JestRuntime } = require('jest-runtime') as typeof JestRuntimeModule;
/** jest-circus keeps the handlers of a suite's events under this name, beyond the suite. */
const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS');
/** Maps URLs to source maps, for stack traces. */
const SOURCE_MAPS = new Map<string, string>();

/**
 * Jest constructs it for each suite. A suite in `SharedEnvironment` gets the modules of its worker's process. Any other, which begins with
 * `@jest-environment node`, has modules of its own, so that it can replace some of them.
 */
export default function runtimeFor(...args: RuntimeArguments): object {
  const [config, environment, , transformer] = args;
  return environment.getVmContext() === null
    ? new SharedRuntime(config, environment as unknown as SharedEnvironment, transformer)
    : new JestRuntime(...args);
}

/** Is the part of Jest's runtime that its runner and jest-circus call. */
class SharedRuntime {
  private readonly config: RuntimeArguments[0];
  private readonly environment: SharedEnvironment;
  private readonly transformer: RuntimeArguments[3];
  private globals: SuiteGlobals = {};

  constructor(
    config: RuntimeArguments[0],
    environment: SharedEnvironment,
    transformer: RuntimeArguments[3],
  ) {
    this.config = config;
    this.environment = environment;
    this.transformer = transformer;
  }

  /** jest-circus keeps a suite's tests in its module, which is therefore evaluated for each suite. */
  requireInternalModule(file: string): unknown {
    Reflect.deleteProperty(globalThis, EVENT_HANDLERS);
    Reflect.deleteProperty(require.cache, file);
    return require(file);
  }

  requireModule(file: string): unknown {
    return require(file);
  }

  setGlobalsForRuntime(globals: SuiteGlobals): void {
    this.globals = { ...globals, jest: this.jestObject() };
  }

  unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  async unstable_importModule(file: string): Promise<void> {
    const { cacheDirectory, moduleNameMapper } = this.config;
    const aliases = moduleNameMapper.map(
      ([pattern, target]) => [new RegExp(pattern), String(target)] as const,
    );
    const compile = (url: string): string => this.compile(url);
    await importSpec(file, { cacheDirectory, aliases, compile }, this.globals);
  }

  getSourceMaps(): ReadonlyMap<string, string> {
    return SOURCE_MAPS;
  }

  restoreAllMocks(): void {
    this.environment.moduleMocker.restoreAllMocks();
  }

  teardown(): void {
    this.restoreAllMocks();
  }

  // The methods below are for tests between which modules are reset, and for coverage.
  enterTestCode(): void {}
  leaveTestCode(): void {}
  getAllCoverageInfoCopy(): void {}

  private compile(url: string): string {
    const { code, sourceMapPath } = this.transformer.transform(fileURLToPath(url), {
      collectCoverage: false,
      collectCoverageFrom: [],
      coverageProvider: 'v8',
      supportsDynamicImport: true,
      supportsExportNamespaceFrom: true,
      supportsStaticESM: true,
      supportsTopLevelAwait: true,
    });
    if (sourceMapPath !== null) SOURCE_MAPS.set(url, sourceMapPath);
    return code;
  }

  private jestObject(): object {
    const { moduleMocker: mocker, fakeTimersModern: timers } = this.environment;
    const offered: Record<string, unknown> = {
      spyOn: mocker.spyOn.bind(mocker),
      restoreAllMocks: () => mocker.restoreAllMocks(),
      // Faked ticks would stop Node's streams and the worker's channel, which are those of the process.
      useFakeTimers: (options: FakeTimers = {}) =>
        timers.useFakeTimers({
          ...options,
          doNotFake: [...(options.doNotFake ?? []), 'nextTick', 'queueMicrotask'],
        }),
      useRealTimers: () => timers.useRealTimers(),
      advanceTimersByTime: (ms: number) => timers.advanceTimersByTime(ms),
      advanceTimersByTimeAsync: (ms: number) => timers.advanceTimersByTimeAsync(ms),
    };
    return new Proxy(offered, {
      get(of, name) {
        if (typeof name === 'string' && name in of) return of[name];
        throw new Error(
          `jest.${String(name)} is not offered to suites that share modules. Begin the spec with /** @jest-environment node */, or add it in tests/runner/shared-runtime.ts.`,
        );
      },
    });
  }
}
