import { buildUnchecked } from '../build.ts';
import { runProgram } from './run-program.ts';

/** `npm run tollgate -- ...`: the client of this checkout. It needs no tests, so none are compiled. */
export function tollgate(args: readonly string[]): Promise<number> {
  return runProgram('tollgate', ['apps/cli/src/main.ts'], args, () => buildUnchecked(['apps/cli']));
}
