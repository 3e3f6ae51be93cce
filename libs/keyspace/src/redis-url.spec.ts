import { describe, expect, test } from '@jest/globals';
import { parseRedisUrl } from './redis-url.ts';

describe('REDIS_URL', () => {
  test('names one server, a cluster or a sentinel group', () => {
    expect(parseRedisUrl('redis://:secret@h:1/2')).toEqual({
      kind: 'single',
      url: 'redis://:secret@h:1/2',
    });
    expect(parseRedisUrl('rediss://h')).toEqual({ kind: 'single', url: 'rediss://h' });
    expect(parseRedisUrl('redis-cluster://h1:7001,h2,[::1]:7003')).toEqual({
      ...{ kind: 'cluster', credentials: {}, isTls: false },
      nodes: [
        { host: 'h1', port: 7001 },
        { host: 'h2', port: 6379 },
        { host: '::1', port: 7003 },
      ],
    });
    expect(parseRedisUrl('rediss-sentinel://user:p%40ss@s1,s2:5/mymaster')).toEqual({
      ...{
        kind: 'sentinel',
        master: 'mymaster',
        credentials: { username: 'user', password: 'p@ss' },
        isTls: true,
      },
      sentinels: [
        { host: 's1', port: 26379 },
        { host: 's2', port: 5 },
      ],
    });
    expect(parseRedisUrl('redis-cluster://:pw@h:1')).toMatchObject({
      credentials: { password: 'pw' },
    });
  });

  test('that cannot be read is refused without showing its password', () => {
    for (const url of [
      'http://h',
      'h:6379',
      '',
      'redis-cluster://',
      'redis-cluster://:secret@h1:x',
      'redis-sentinel://:secret@h1:1',
      'redis://:secret@h:99999999',
    ]) {
      expect(() => parseRedisUrl(url)).toThrow(/REDIS_URL/);
      expect(() => parseRedisUrl(url)).not.toThrow(/secret/);
    }
  });
});
