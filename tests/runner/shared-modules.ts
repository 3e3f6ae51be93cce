import module from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** Holds what importing needs to know of the project's Jest configuration. */
export interface Project {
  /** The compiled code is kept below it between runs of one suite. */
  cacheDirectory: string;
  /** Mirrors `moduleNameMapper`: a pattern of specifiers and the path that they lead to, with `$1`. */
  aliases: readonly (readonly [RegExp, string])[];
  /** Returns the JavaScript of the TypeScript file at a URL. */
  compile: (url: string) => string;
}

/** Holds what a suite may import from `@jest/globals`, by name. */
export type SuiteGlobals = Readonly<Record<string, object>>;

const GLOBALS_URL = 'tollgate-test:globals';

let project: Project | undefined;
let globals: SuiteGlobals = {};
let suites = 0;

/** Evaluates a spec and the specs that it imports. Any other module is evaluated when the first suite of the process imports it. */
export async function importSpec(
  file: string,
  settings: Project,
  suite: SuiteGlobals,
): Promise<void> {
  if (project === undefined) {
    if (process.send) endQuickly();
    else module.enableCompileCache(path.join(settings.cacheDirectory, 'v8'));
    module.registerHooks({ resolve, load });
  }
  project = settings;
  globals = suite;
  suites += 1;
  await import(`${pathToFileURL(file).href}?suite=${suites}`);
}

/** Jest kills a worker that takes 500 ms to end. Without handles, a worker ends by `exit`, which leaves out the release of a heap of 1 GB. A worker that keeps a handle is still found. */
function endQuickly(): void {
  process.once('beforeExit', () => process.exit());
}

const resolve: module.ResolveHookSync = (specifier, context, next) => {
  if (specifier === '@jest/globals')
    return { url: GLOBALS_URL, format: 'module', shortCircuit: true };
  const resolved = next(withoutAlias(specifier), context);
  const isSpec = resolved.url.endsWith('.spec.ts');
  return isSpec ? { ...resolved, url: `${resolved.url}?suite=${suites}` } : resolved;
};

const load: module.LoadHookSync = (url, context, next) => {
  if (url === GLOBALS_URL)
    return { format: 'module', shortCircuit: true, source: sourceOfGlobals() };
  if (!project || !isSource(url)) return next(url, context);
  return { format: 'module', shortCircuit: true, source: project.compile(url) };
};

function isSource(url: string): boolean {
  return /^file:.*\.ts(\?|$)/.test(url) && !/\/(node_modules|dist)\//.test(url);
}

function withoutAlias(specifier: string): string {
  for (const [pattern, target] of project?.aliases ?? []) {
    const match = pattern.exec(specifier);
    if (match) return pathToFileURL(target.replace('$1', match[1] ?? '')).href;
  }
  return specifier;
}

function sourceOfGlobals(): string {
  Object.assign(globalThis, { [Symbol.for(GLOBALS_URL)]: standIn });
  const exported = Object.keys(globals).map((name) => `export const ${name} = of('${name}');`);
  return [`const of = globalThis[Symbol.for('${GLOBALS_URL}')];`, ...exported].join('\n');
}

/** A shared module keeps what it imports, so each global stands for the one of the suite that runs. */
function standIn(name: string): object {
  const current = (): object => globals[name] ?? {};
  return new Proxy(() => undefined, {
    get: (_, key) => Reflect.get(current(), key),
    apply: (_, self, args) => Reflect.apply(current() as () => unknown, self, args),
  });
}
