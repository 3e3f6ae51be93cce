import { setFlagsFromString } from 'node:v8';

/**
 * Has objects allocated young. By default V8 allocates those of a place in the code in the old generation once most of them survive a minor collection,
 * as they do while many requests run at the same time. From then on each such object, though dead, keeps all that it refers to alive until the next
 * major collection: 15 KB of a JSON request were copied and moved for nothing (bench/results.md). V8 reads the flag at each decision, and Node does
 * not accept it in NODE_OPTIONS: each process calls this once, as it starts.
 */
export function keepObjectsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
