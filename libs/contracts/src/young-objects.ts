import { setFlagsFromString } from 'node:v8';

/**
 * Objects of requests are allocated young. V8 moves a place in the code to the old generation once most of what it allocates survives a minor
 * collection, as it does while many requests run at the same time. From then on each such object, though dead, keeps all that it refers to alive until
 * the next major collection: 15 KB of a JSON request were copied and moved for nothing (bench/results.md). Node accepts the flag neither in
 * NODE_OPTIONS nor from a cluster's primary, and reads it at each decision, so it is set here.
 */
export function keepObjectsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
