import { execFileSync } from 'node:child_process';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { LiveMap, LiveSet } from './live-map.ts';

const change = fc.tuple(fc.constantFrom('set', 'delete'), fc.nat(40), fc.nat());

describe('a map of entries that soon go', () => {
  it('holds what a Map holds, in the same order, after any changes', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 1_000, size: 'max' }), (changes) => {
        const map = new Map<number, number>();
        const live = new LiveMap<number, number>();
        for (const [kind, key, value] of changes) {
          if (kind === 'set') {
            map.set(key, value);
            live.set(key, value);
          } else expect(live.delete(key)).toBe(map.delete(key));
        }
        expect([...live.values()]).toEqual([...map.values()]);
        expect(live.size).toBe(map.size);
        for (const key of map.keys()) expect(live.get(key)).toBe(map.get(key));
      }),
    );
  });

  it('an iteration that deletes what it visits visits each entry once', () => {
    const live = new LiveSet<number>();
    const members = Array.from({ length: 500 }, (_, index) => index);
    for (const member of members) live.add(member);
    const visited: number[] = [];
    for (const member of live) {
      visited.push(member);
      expect(live.delete(member)).toBe(true);
    }
    expect(visited).toEqual(members);
    expect(live.size).toBe(0);
  });

  it('entries that are gone do not come into the old generation', () => {
    const live = oldBytes('live');
    expect(live).toBeLessThan(300);
    // A Map keeps most of the 1.6 KB of each; its share depends on when V8 collects.
    expect(oldBytes('map')).toBeGreaterThan(2 * live);
  });
});

/** Measures the old bytes of each entry that passes through, in a separate process. */
function oldBytes(kind: 'map' | 'live'): number {
  const script = path.join(import.meta.dirname, 'testing', 'entries-that-pass.ts');
  return Number(execFileSync(process.execPath, ['--expose-gc', '--no-warnings', script, kind]));
}
