import { LiveMap } from '../live-map.ts';
import { oldBytesOf } from './old-bytes.ts';

/** Prints how many bytes of each entry that passes through a map come into the old generation. The argument is `map` or `live`. It needs `--expose-gc`. */
const ENTRIES = 50_000;
const AT_ONCE = 32;

interface Entry {
  name: string;
  filling: number[];
}

const entries: Pick<LiveMap<string, Entry>, 'delete'> & {
  set: (name: string, entry: Entry) => unknown;
} = process.argv[2] === 'live' ? new LiveMap<string, Entry>() : new Map<string, Entry>();

function pass(count: number): void {
  for (let index = 0; index < count; index += 1) {
    entries.delete(`entry-${index - AT_ONCE}`);
    const name = `entry-${index}`;
    entries.set(name, { name, filling: Array.from<number>({ length: 200 }).fill(index) });
  }
}

pass(ENTRIES / 10);
(globalThis as { gc?: () => void }).gc?.();
const { promoted, direct } = oldBytesOf(() => pass(ENTRIES));
process.stdout.write(`${Math.round((promoted + direct) / ENTRIES)}\n`);
