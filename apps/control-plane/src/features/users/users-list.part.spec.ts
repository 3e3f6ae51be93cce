import { describe, expect, test } from '@jest/globals';
import { PASSWORD } from '../../testing/control-plane-under-test.ts';
import { asAdmin, plane } from './users-under-test.ts';

describe('the list', () => {
  test('pages, sorts, filters and searches', async () => {
    for (let index = 0; index < 5; index += 1)
      await plane.call('POST', '/auth/register', {
        body: { username: `list_${index}%x`.replace('%', ''), password: PASSWORD },
      });
    const page = await asAdmin(
      'GET',
      '/users?q=list_&sort=-username&page=2&page_size=2&status=pending',
    );
    expect(page.body).toMatchObject({ page: 2, page_size: 2, total: 5 });
    expect(page.body.data.map((user: { username: string }) => user.username)).toEqual([
      'list_2x',
      'list_1x',
    ]);
    expect((await asAdmin('GET', '/users?q=%25')).body.total).toBe(0);
  });

  test('a search by a part of a name has an index, so that it does not read every account', async () => {
    const runner = plane.administrator.createQueryRunner();
    await runner.startTransaction();
    try {
      await runner.query(
        "INSERT INTO users (username, password_hash) SELECT 'many-' || n, '-' FROM generate_series(1, 20000) n",
      );
      await runner.query('ANALYZE users');
      const plan = await runner.query(
        "EXPLAIN SELECT count(*) FROM users WHERE deleted_at IS NULL AND username ILIKE '%many-123%'",
      );
      expect(JSON.stringify(plan)).toContain('users_search');
    } finally {
      await runner.rollbackTransaction();
      await runner.release();
    }
  });

  test.each([
    'page=0',
    'page_size=101',
    'sort=password_hash',
    'unknown=1',
    'status=gone',
    'page=1&page=2',
    "sort=id'--",
    'q=',
  ])('refuses ?%s (S8)', async (query) => {
    expect(await asAdmin('GET', `/users?${query}`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
  });
});
