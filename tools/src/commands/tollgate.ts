import { buildUnchecked } from '../build.ts';
import { STATE_FOLDER } from '../checkout.ts';
import { readStartFile } from '../stack/start-file.ts';
import { runProgram } from './run-program.ts';

/** `npm run tollgate -- ...`: the client of this checkout, for its installation unless another one is named. It needs no tests, so none are compiled. */
export function tollgate(args: readonly string[]): Promise<number> {
  const url = readStartFile(STATE_FOLDER)?.baseUrl;
  if (url !== undefined) process.env.TOLLGATE_URL_OF_CHECKOUT = url;
  return runProgram('tollgate', ['apps/cli/src/main.ts'], args, () => buildUnchecked(['apps/cli']));
}
