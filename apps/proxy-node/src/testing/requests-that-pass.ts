import { tuneForServing } from '@tollgate/contracts';
import { oldBytesOf } from './old-bytes.ts';

/**
 * Prints how many bytes of each object are allocated in the old generation at once, where most objects survive minor collections because many live at a time.
 * The argument is `tuned`, as the node does it, or `default`.
 */
const SLICE = 100_000;
const SLICES = 30;
const AT_ONCE = 200_000;

interface Passing {
  index: number;
  filling: { index: number };
}

if (process.argv[2] === 'tuned') tuneForServing();

const alive: (Passing | null)[] = Array.from({ length: AT_ONCE }, () => null);

let at = 0;
function pass(count: number): void {
  for (let index = 0; index < count; index += 1) {
    alive[at % AT_ONCE] = { index, filling: { index } };
    at += 1;
  }
}

function passSlices(): void {
  for (let slice = 0; slice < SLICES; slice += 1) pass(SLICE);
}

// V8 decides by what survives, and for code that it optimises from then on.
passSlices();
const { direct } = oldBytesOf(passSlices);
process.stdout.write(`${Math.round(direct / (SLICES * SLICE))}\n`);
