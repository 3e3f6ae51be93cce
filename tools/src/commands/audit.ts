import { build, buildUnchecked } from '../build.ts';
import { runProgram } from './run-program.ts';

/** Runs `npm run audit [-- --load N]`. The books of a running installation need only what its start installed and built. */
export function audit(args: readonly string[]): Promise<number> {
  const compile = args.some((arg) => arg.startsWith('--load'))
    ? build
    : () => buildUnchecked(['libs/keyspace']);
  return runProgram('audit', ['tests/audit/src/main.ts'], args, compile);
}
