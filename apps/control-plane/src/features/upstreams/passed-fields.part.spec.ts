import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { readRoutingRows } from '../snapshots/read-routing-rows.sql.ts';

let plane: ControlPlane;
const admin = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: plane.adminToken, body });

beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);

describe('which fields of requests reach an upstream', () => {
  const OWN = { openai: 'https://api.openai.com/v1', anthropic: 'https://api.anthropic.com/v1' };
  const PROVIDER = {
    protocol: 'openai',
    base_url: 'https://api.example.com/v1',
    api_key: 'sk-canary-secret',
  };
  const made = async (more: object) =>
    (await admin('POST', '/upstreams', { name: `fields-${randomUUID()}`, ...PROVIDER, ...more }))
      .body;

  test.each(['openai', 'anthropic'] as const)(
    'is known ones, and all at the address of the vendor: %s',
    async (protocol) => {
      expect((await made({ protocol, base_url: OWN[protocol] })).fields).toBe('all');
      const others = [
        'https://api.example.com/v1',
        'https://api.openai.com.example.com/v1',
        OWN[protocol === 'openai' ? 'anthropic' : 'openai'],
      ];
      for (const base_url of others)
        expect((await made({ protocol, base_url })).fields).toBe('known');
    },
  );

  test('is what an administrator says; nodes learn of it', async () => {
    const { id } = await made({ fields: 'all' });
    const kept = async () =>
      (await plane.dataSource.transaction(readRoutingRows)).upstreams.find((row) => row.id === id);
    expect(await kept()).toMatchObject({ fields: 'all' });
    const put = (fields: unknown) => admin('PUT', `/upstreams/${id}`, { fields });
    expect((await put('known')).body.fields).toBe('known');
    expect(await kept()).toMatchObject({ fields: 'known' });
    for (const wrong of ['some', null, true]) expect((await put(wrong)).status).toBe(400);
  });

  test('ends with the address of the vendor that it was for', async () => {
    const put = (id: number, more: object) =>
      admin('PUT', `/upstreams/${id}`, { api_key: 'sk-other', ...more });
    const other = 'https://gateway.example.com/v1';
    const { id } = await made({ base_url: OWN.openai });
    expect((await put(id, { base_url: other })).body.fields).toBe('known');
    const said = await made({ base_url: OWN.openai });
    expect((await put(said.id, { base_url: other, fields: 'all' })).body.fields).toBe('all');
    const elsewhere = await made({ fields: 'all' });
    expect((await put(elsewhere.id, { base_url: other })).body.fields).toBe('all');
  });

  test('is named by config-check where it is all', async () => {
    const { id } = await made({ fields: 'known' });
    const code = 'upstream_passes_all_fields';
    const named = async () =>
      (await admin('GET', '/proxy/config-check')).body.problems.filter(
        (problem: { code: string; subject: object }) =>
          problem.code === code && isDeepStrictEqual(problem.subject, { kind: 'upstream', id }),
      );
    expect(await named()).toEqual([]);
    await admin('PUT', `/upstreams/${id}`, { fields: 'all' });
    expect(await named()).toHaveLength(1);
  });
});
