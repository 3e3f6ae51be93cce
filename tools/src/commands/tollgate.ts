import { buildUnchecked } from '../build.ts';
import { runProgram } from './run-program.ts';

/** Runs `npm run tollgate -- ...`: the client of this checkout, as `npx tollgate` runs it. It compiles no tests. */
export function tollgate(args: readonly string[]): Promise<number> {
  return runProgram('tollgate', ['apps/cli/bin/tollgate.mjs'], args, () =>
    buildUnchecked(['apps/cli']),
  );
}
