/** Runs `npm run <command>` after the bootstrap. Each command has a file in `commands/`, which is loaded only when it is needed. */
type Command = (args: readonly string[]) => Promise<number>;

const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import('./commands/start.ts')).start,
  stop: async () => (await import('./commands/stop.ts')).stop,
  test: async () => (await import('./commands/test.ts')).test,
  'test:long': async () => (await import('./commands/test.ts')).testLong,
  'test:failover': async () => (await import('./commands/test.ts')).testFailover,
  'test:upgrade': async () => (await import('./commands/test.ts')).testUpgrade,
  'test:cluster': async () => (await import('./commands/test.ts')).testCluster,
  dev: async () => (await import('./commands/dev.ts')).dev,
  build: async () => (await import('./commands/build.ts')).build,
  check: async () => (await import('./check.ts')).check,
  'check:deploy': async () => (await import('./commands/check-deploy.ts')).checkDeploy,
  format: async () => (await import('./commands/format.ts')).format,
  doctor: async () => (await import('./commands/doctor.ts')).doctor,
  seed: async () => (await import('./commands/seed.ts')).seed,
  audit: async () => (await import('./commands/audit.ts')).audit,
  'test:clients': async () => program('test:clients', ['tests/clients/src/main.ts']),
  'test:fuzz': async () => program('test:fuzz', ['tests/fuzz/src/main.ts']),
  'test:console': async () => program('test:console', ['tests/console/src/main.ts']),
  screenshots: async () => program('screenshots', ['tests/console/src/screenshots.ts']),
  'test:fleet': async () => program('test:fleet', ['tests/fleet/src/main.ts']),
  'test:chaos': async () => program('test:chaos', ['tests/chaos/src/main.ts']),
  'test:simulation': async () => program('test:simulation', ['tests/simulation/src/main.ts']),
  'test:mutants': async () => mutants,
  'test:conformance': async () => program('test:conformance', ['tests/conformance/src/main.ts']),
  ops: async () => (await import('./commands/ops.ts')).ops,
  size: async () => (await import('./commands/size.ts')).size,
  release: async () => (await import('./commands/release.ts')).release,
  generate: async () => (await import('./commands/generate.ts')).generate,
  tollgate: async () => (await import('./commands/tollgate.ts')).tollgate,
  bench: async () => program('bench', ['bench/src/main.ts']),
};

async function program(command: string, files: readonly string[]): Promise<Command> {
  const { runProgram } = await import('./commands/run-program.ts');
  return (args) => runProgram(command, files, args);
}

/** Runs the mutants of the Lua, or with `--typescript` those of the code that moves money. */
async function mutants(args: readonly string[]): Promise<number> {
  const isTypeScript = args.includes('--typescript');
  const file = isTypeScript ? 'tests/mutants/src/main.ts' : 'libs/keyspace/test/mutants.ts';
  const run = await program('test:mutants', [file]);
  return run(args.filter((arg) => arg !== '--typescript'));
}

async function main([name = '', ...args]: readonly string[]): Promise<number> {
  const load = COMMANDS[name];
  if (!load) {
    console.error(
      `Unknown command "${name}".\n  Fix: npm run <command>, one of ${Object.keys(COMMANDS).join(', ')}`,
    );
    return 1;
  }
  const command = await load();
  return command(args);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(
    `\n${process.env.TOLLGATE_DEBUG ? (error as Error).stack : (error as Error).message}`,
  );
  process.exitCode = 1;
}
