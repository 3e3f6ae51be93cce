import { setFlagsFromString } from 'node:v8';
import { takesLibraryPath } from './library-paths.ts';

/** In Node 26, V8 waits for 16,000 calls by default, whatever its help text says. */
const CALLS_BEFORE_TURBOFAN = 2_000;

/**
 * Sets flags of V8 for a server that does the same work for weeks. V8 reads each of them whenever it decides, and Node accepts neither in NODE_OPTIONS:
 * each process calls this once, as it starts. The gain of each is in docs/decisions/0019-the-hot-path-in-node.md.
 *
 * - Objects are allocated young. By default V8 allocates those of a place in the code in the old generation once most of them survive a minor
 *   collection, as they do while many requests run at the same time. From then on each such object, though dead, keeps all that it refers to alive
 *   until the next major collection.
 * - Code that runs once a request gets V8's best code after 2,000 requests. Until then objects outlive the request that made them: the code of the
 *   tier below leaves references behind, and all of a request is moved to the old generation.
 */
export function tuneForServing(): void {
  if (takesLibraryPath('v8_flags')) return;
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString(`--invocation-count-for-turbofan=${CALLS_BEFORE_TURBOFAN}`);
}
