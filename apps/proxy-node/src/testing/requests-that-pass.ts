import { setImmediate as nextTurn } from 'node:timers/promises';
import { keepObjectsYoung } from '@tollgate/contracts';
import { oldBytesOf } from './old-bytes.ts';

/**
 * Prints how many bytes of each object come into the old generation where several live at a time, each with a function that refers to it, as requests do.
 * Argument: `young` as the node does it, or `default`.
 */
const OBJECTS = 100_000;
const AT_ONCE = 8;

interface Passing {
  filling: number[];
  giveUp?: (error: Error) => void;
  call?: { end: (() => void) | null };
}

if (process.argv[2] === 'young') keepObjectsYoung();

async function pass(index: number): Promise<void> {
  const passing: Passing = { filling: Array.from<number>({ length: 200 }).fill(index) };
  const call: NonNullable<Passing['call']> = { end: null };
  passing.call = call;
  await new Promise<Passing>((resolve, reject) => {
    passing.giveUp = (error) => {
      passing.filling = [];
      reject(error);
    };
    call.end = () => resolve(passing);
    setImmediate(() => call.end?.());
  });
  await nextTurn();
}

async function passAll(count: number): Promise<void> {
  let started = 0;
  const loop = async (): Promise<void> => {
    while (started < count) await pass((started += 1));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, loop));
}

await passAll(OBJECTS / 5);
const bytes = await oldBytesOf(() => passAll(OBJECTS));
process.stdout.write(`${Math.round(bytes / OBJECTS)}\n`);
