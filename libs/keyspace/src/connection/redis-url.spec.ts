import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parseRedisUrl } from './redis-url.ts';

describe('REDIS_URL', () => {
  test('names one server, a cluster or a sentinel group', () => {
    expect(parseRedisUrl('redis://:secret@h:1/2')).toEqual({
      kind: 'single',
      url: 'redis://:secret@h:1/2',
      tls: null,
    });
    expect(parseRedisUrl('rediss://h')).toEqual({ kind: 'single', url: 'rediss://h', tls: {} });
    expect(parseRedisUrl('redis-cluster://h1:7001,h2,[::1]:7003')).toEqual({
      ...{ kind: 'cluster', credentials: {}, tls: null },
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
        tls: {},
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

  test('names the files of a client certificate, with TLS only and both together', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'redis-url-'));
    const [sslcert, sslkey] = ['client.crt', 'client.key'].map((name) => path.join(folder, name));
    writeFileSync(sslcert ?? '', 'CERT');
    writeFileSync(sslkey ?? '', 'KEY');
    const query = `sslcert=${sslcert}&sslkey=${sslkey}`;
    const tls = { cert: 'CERT', key: 'KEY' };
    expect(parseRedisUrl(`rediss://:pw@h:1/2?${query}&family=6`)).toEqual({
      kind: 'single',
      url: 'redis://:pw@h:1/2?family=6',
      tls,
    });
    expect(parseRedisUrl(`rediss-cluster://h1,h2?${query}`)).toMatchObject({
      kind: 'cluster',
      tls,
    });
    expect(parseRedisUrl(`rediss-sentinel://s1/main?${query}`)).toMatchObject({
      master: 'main',
      tls,
    });
    for (const [url, problem] of [
      [`redis://:secret@h?${query}`, /needs rediss/],
      [`rediss://:secret@h?sslcert=${sslcert}`, /both sslcert and sslkey/],
      [`rediss://:secret@h?${query}.missing`, /sslkey of REDIS_URL cannot be read: .*ENOENT/],
    ] as const) {
      expect(() => parseRedisUrl(url)).toThrow(problem);
      expect(() => parseRedisUrl(url)).not.toThrow(/secret/);
    }
    rmSync(folder, { recursive: true });
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
