import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { tuneForServing } from '@tollgate/contracts';

/** Prints after how many requests V8 runs its best code for a method that is called once a request. The argument is `tuned`, as the node does it, or `default`. */
const CALLS_MAX = 30_000;
const CALLS_A_TURN = 20;
/** Is a bit of `%GetOptimizationStatus` (V8's runtime.h, `OptimizationStatus::kTurboFanned`). */
const IS_TURBOFANNED = 1 << 5;

if (process.argv[2] === 'tuned') tuneForServing();
setFlagsFromString('--allow-natives-syntax');
// eslint-disable-next-line typescript/no-implied-eval, typescript/no-unsafe-type-assertion
const statusOf = new Function('f', 'return %GetOptimizationStatus(f)') as (f: unknown) => number;

class Requests {
  served = 0;

  async serve(body: string): Promise<number> {
    const text = await Promise.resolve(body);
    this.served += text.length;
    return this.served;
  }
}

const requests = new Requests();
let calls = 0;
while (calls < CALLS_MAX && (statusOf(requests.serve) & IS_TURBOFANNED) === 0) {
  for (let call = 0; call < CALLS_A_TURN; call += 1) await requests.serve(`body ${calls}`);
  calls += CALLS_A_TURN;
  // V8 compiles beside this thread and takes the code over between two turns.
  await delay(1);
}
process.stdout.write(`${calls}\n`);
