import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  InvalidKeyPart,
  keys,
  nodeAddress,
  parseNodeAddress,
  shardNames,
  shardOf,
} from './keys.ts';

const RID = '01a1fc4d-249b-7000-8000-000000000001';

describe('keys', () => {
  test('of one account share one slot, whatever the number of shards', () => {
    expect(shardOf(67, 64)).toBe('s03');
    expect(shardOf(64, 64)).toBe('s00');
    expect(keys.subscription(shardOf(67, 64), 67, 4)).toBe('{s03}:sub:67:4');
    expect(shardNames(16)).toHaveLength(16);
    expect(shardNames(128).at(-1)).toBe('s127');
  });

  test('name every shard that an account can have', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1 }), fc.integer({ min: 1, max: 300 }), (accountId, shards) =>
        shardNames(shards).includes(shardOf(accountId, shards)),
      ),
    );
  });

  test('cannot collide, for their parts are what they claim to be', () => {
    for (const bad of [0, -1, 1.5, Number.NaN, 2 ** 53]) {
      expect(() => keys.account('s01', bad)).toThrow(InvalidKeyPart);
      expect(() => keys.subscription('s01', 1, bad)).toThrow(InvalidKeyPart);
      expect(() => shardOf(bad, 64)).toThrow(InvalidKeyPart);
      expect(() => keys.snapshot(bad)).toThrow(InvalidKeyPart);
    }
    for (const bad of ['', 'a'.repeat(63), 'A'.repeat(64), `${'a'.repeat(64)}\n`, 'a'.repeat(65)])
      expect(() => keys.key('s01', bad)).toThrow(InvalidKeyPart);
    for (const bad of ['', 'x', RID.toUpperCase(), `${RID} `, RID.replace('-7', '-4')])
      expect(() => keys.hold('s01', bad)).toThrow(InvalidKeyPart);
    for (const bad of ['', '01', 's1', 's01}', '{s01}'])
      expect(() => keys.epoch(bad)).toThrow(InvalidKeyPart);
    for (const bad of ['', 'a:b:0', 'a}', 'a b:0', ':0', 'a:x', '-a:0'])
      expect(() => keys.acknowledgements(bad)).toThrow(InvalidKeyPart);
    expect(() => keys.dump('x', 'a:0')).toThrow(InvalidKeyPart);
  });

  test('of a node worker go by its address, and a bare name is worker 0', () => {
    expect(nodeAddress('node-1', 2)).toBe('node-1:2');
    expect(parseNodeAddress('node-1:2')).toEqual({ name: 'node-1', worker: 2 });
    expect(keys.acknowledgements('node-1')).toBe(keys.acknowledgements('node-1:0'));
    expect(() => nodeAddress('a:b', 0)).toThrow(InvalidKeyPart);
    expect(() => nodeAddress('a', -1)).toThrow(InvalidKeyPart);
  });
});
