import { beforeAll, describe, expect, test } from '@jest/globals';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await sharedControlPlane();
}, 60_000);

describe('what is wrong with a field', () => {
  const errorsOf = async (method: string, path: string, body?: object) =>
    (await plane.call(method, path, { token: plane.adminToken, ...(body && { body }) })).body
      .errors;

  test('a missing field is required, whatever its type; a rule of several fields keeps its own words', async () => {
    const required = { code: 'required', params: {}, message: 'is required' };
    expect(await errorsOf('POST', '/upstreams', {})).toEqual([{ field: 'name', ...required }]);
    expect(await errorsOf('POST', '/routing', {})).toEqual([
      { field: 'model_id', ...required },
      { field: 'upstream_id', ...required },
    ]);
    expect(
      await errorsOf('POST', '/models/set-auto-recharge', {
        model_id: 1,
        threshold: 1,
        amount: null,
      }),
    ).toEqual([
      {
        field: 'amount',
        code: 'rule',
        params: {},
        message: 'set both threshold and amount, or neither',
      },
    ]);
    expect(await errorsOf('POST', '/upstreams', { name: 7 })).toEqual(
      expect.arrayContaining([
        {
          field: 'name',
          code: 'wrong_type',
          params: { expected: 'string' },
          message: 'must be of type string',
        },
      ]),
    );
  });

  test('each kind of fault has its code and parameters, which clients translate', async () => {
    const faults = async (path: string, body: object) =>
      (await errorsOf('POST', path, body)).map(
        ({ field, code, params }: { field: string; code: string; params: object }) => [
          field,
          code,
          params,
        ],
      );
    expect(await faults('/auth/register', { username: 'short', password: 'short' })).toEqual([
      ['password', 'too_short', { minimum: 8 }],
    ]);
    expect(await faults('/keys', { name: 'x'.repeat(10_000) })).toEqual([
      ['name', 'too_long', { maximum: expect.any(Number) }],
    ]);
    expect(
      await faults('/upstreams', {
        name: 'x',
        protocol: 'none',
        base_url: 'https://example.com',
        connect_timeout_ms: 0,
        total_timeout_ms: 4_000_000,
      }),
    ).toEqual([
      ['protocol', 'not_one_of', { values: expect.stringContaining('openai') }],
      ['connect_timeout_ms', 'too_small', { minimum: 1 }],
      ['total_timeout_ms', 'too_large', { maximum: 3_600_000 }],
    ]);
  });

  test('what a query does not know is called a query parameter, what a body does not know a field', async () => {
    for (const path of ['/users?surprise=1', '/users/1?surprise=1'])
      expect(await errorsOf('GET', path)).toEqual([
        {
          field: 'surprise',
          code: 'unknown_parameter',
          params: {},
          message: 'is not a known query parameter',
        },
      ]);
    expect(await errorsOf('POST', '/keys', { name: 'x', surprise: 1 })).toEqual([
      { field: 'surprise', code: 'unknown_field', params: {}, message: 'is not a known field' },
    ]);
  });

  test('a date alone is its begin in UTC; the refusal of any other text gives an example', async () => {
    const { body: key } = await plane.call('POST', '/keys', {
      token: plane.adminToken,
      body: { name: 'dated', expires_at: '2099-02-01' },
    });
    expect(key.expires_at).toBe('2099-02-01T00:00:00.000Z');
    const today = new Date().toISOString().slice(0, 10);
    for (const path of ['/activity/logs', '/usage/logs', '/usage/statistics', '/wallet/logs']) {
      expect(
        (await plane.call('GET', `${path}?from=${today}`, { token: plane.adminToken })).status,
      ).toBe(200);
      for (const bad of ['yesterday', '2026-02-30', '20260101'])
        expect(await errorsOf('GET', `${path}?from=${bad}`)).toEqual([
          expect.objectContaining({
            field: 'from',
            message: expect.stringContaining('e.g. 2026-01-31'),
          }),
        ]);
    }
    const ids = async (filter: string) =>
      (
        await plane.call('GET', `/activity/logs?target_kind=key&target_id=${key.id}&${filter}`, {
          token: plane.adminToken,
        })
      ).body.data.length;
    expect([await ids(`from=${today}`), await ids(`to=${today}`)]).toEqual([1, 0]);
  });
});
