import { describe, expect, jest, test } from '@jest/globals';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { usageEvent } from '../../../testing/ledger-under-test.ts';
import { emptyHistogram } from '../histogram.ts';
import { plane, ledger, worker, subscribed, get } from './usage-api-under-test.ts';

describe('usage/statistics', () => {
  test('sums requests, errors, tokens and charge by day and group, with percentiles', async () => {
    const parts = await subscribed();
    const durations = Array.from({ length: 100 }, (_, index) => index + 1);
    await worker.process(
      durations.map((duration) =>
        usageEvent(2, {
          ...parts,
          final: { duration_ms: duration * 10, first_token_ms: duration },
        }),
      ),
    );
    await worker.process([
      usageEvent(0, {
        ...parts,
        final: {
          outcome: 'upstream_failed',
          status: 502,
          upstream_id: null,
          first_token_ms: null,
          duration_ms: 5,
        },
      }),
    ]);
    const { body } = await get(
      `/usage/statistics?interval=day&group_by=upstream&user_id=${parts.account.id}`,
      plane.adminToken,
    );
    expect(body.data).toMatchObject([
      { upstream_id: null, requests: 1, errors: 1, charge: 0, first_token_ms: { p50: null } },
      { upstream_id: 1, requests: 100, errors: 0, charge: 200, input_tokens: 200 },
    ]);
    const { p50, p99 } = body.data[1]?.duration_ms ?? { p50: NaN, p99: NaN };
    expect(Math.abs(p50 - 500)).toBeLessThanOrEqual(60);
    expect(Math.abs(p99 - 990)).toBeLessThanOrEqual(60);
    const byModel = (
      await get('/usage/statistics?interval=hour&group_by=model', parts.account.token)
    ).body.data;
    expect(byModel.reduce((sum: number, row: { requests: number }) => sum + row.requests, 0)).toBe(
      101,
    );
    expect(byModel[0]).toMatchObject({ model: parts.model.name });
  });

  test('sums by minute, by hour and by day have the same requests, each in its minute', async () => {
    const parts = await subscribed();
    const at = (agoMinutes: number) =>
      usageEvent(3, { ...parts, rid: uuidv7(Date.now() - agoMinutes * 60_000) });
    await worker.process([at(5), at(5), at(9), at(200)]);
    const sums = async (interval: string) => {
      const from = new Date(Date.now() - 6 * 3_600_000).toISOString();
      const { data } = (
        await get(`/usage/statistics?interval=${interval}&from=${from}`, parts.account.token)
      ).body;
      return data.map(({ at: begin, requests }: { at: string; requests: number }) => ({
        begin,
        requests,
      }));
    };
    const minutes: { begin: string; requests: number }[] = await sums('minute');
    expect(minutes.map(({ requests }) => requests)).toEqual([1, 1, 2]);
    expect(Date.parse(minutes[2]?.begin ?? '') - Date.parse(minutes[1]?.begin ?? '')).toBe(240_000);
    for (const interval of ['hour', 'day'])
      expect((await sums(interval)).reduce((sum: number, { requests }) => sum + requests, 0)).toBe(
        4,
      );
  });

  test.each([
    ['minute', 49, '48 hours'],
    ['hour', 91 * 24, '90 days'],
  ])(
    'refuses sums by %s that are not kept any more, and says since when',
    async (interval, hours, kept) => {
      const [from, to] = [hours, hours - 1].map((ago) =>
        new Date(Date.now() - ago * 3_600_000).toISOString(),
      );
      expect(
        await get(`/usage/statistics?interval=${interval}&from=${from}&to=${to}`, plane.adminToken),
      ).toMatchObject({
        status: 400,
        body: { code: 'statistics_range', detail: expect.stringContaining(kept) },
      });
    },
  );

  test('as CSV it has the rows of the JSON, a column for each field and percentile, and no cell a spreadsheet would run', async () => {
    const parts = await subscribed();
    const { body: key } = await plane.call('POST', '/keys', {
      token: parts.account.token,
      body: { name: '=1+1' },
    });
    await worker.process([
      usageEvent(3, { ...parts, keyId: key.id, final: { duration_ms: 20, first_token_ms: 10 } }),
    ]);
    const query = '/usage/statistics?interval=day&group_by=key';
    const [row] = (await get(query, parts.account.token)).body.data;
    const answer = await get(`${query}&format=csv`, parts.account.token);
    expect(answer.headers.get('content-type')).toMatch(/^text\/csv/);
    expect(answer.headers.get('content-disposition')).toContain('usage-statistics.csv');
    const percentilesOf = (name: 'duration_ms' | 'first_token_ms') =>
      Object.entries(row[name]).map(([share, value]) => [`${name}_${share}`, value]);
    const { duration_ms: _, first_token_ms: __, ...plain } = row;
    const flattened = [
      ...Object.entries({ ...plain, key: `"'=1+1"` }),
      ...percentilesOf('duration_ms'),
      ...percentilesOf('first_token_ms'),
    ];
    expect(String(answer.body)).toBe(
      `${flattened.map(([name]) => name).join(',')}\r\n${flattened.map(([, value]) => String(value)).join(',')}\r\n`,
    );
  });

  test('a question about one account or key takes one connection, however it is grouped; one about all is shared out', async () => {
    const { account } = await subscribed();
    const query = jest.spyOn(plane.dataSource, 'query');
    const sumsFor = async (token: string, filter: string) => {
      query.mockClear();
      expect((await get(`/usage/statistics?${filter}`, token)).status).toBe(200);
      return query.mock.calls.filter(([sql]) => sql.includes('FROM usage_rollups')).length;
    };
    expect(await sumsFor(account.token, 'group_by=key')).toBe(1);
    expect(await sumsFor(plane.adminToken, `group_by=user&user_id=${account.id}`)).toBe(1);
    expect(await sumsFor(plane.adminToken, 'group_by=user&key_id=1')).toBe(1);
    expect(await sumsFor(plane.adminToken, 'group_by=user')).toBe(3);
    query.mockRestore();
  });

  test('answers 20,000 rows though nearly all lie in one day, and refuses more without reading many more', async () => {
    const buckets = emptyHistogram();
    const used = (day: string, users: number) =>
      ledger.query(
        `INSERT INTO usage_rollups_daily (day, user_id, key_id, model_id, upstream_id, requests, errors, charge, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, duration_histogram, first_token_histogram)
         SELECT $1::date, n, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, $3, $3 FROM generate_series(1, $2::int) n`,
        [day, users, buckets],
      );
    const ask = () =>
      get(
        '/usage/statistics?interval=day&group_by=user&from=2020-01-01T00:00:00Z&to=2020-01-31T00:00:00Z',
        plane.adminToken,
      );
    await used('2020-01-02', 2);
    await used('2020-01-30', 19_998);
    const { body } = await ask();
    expect(
      new Set(body.data.map((row: { at: string; user_id: number }) => `${row.at} ${row.user_id}`))
        .size,
    ).toBe(20_000);
    expect(body.data).toHaveLength(20_000);
    for (const day of ['2020-01-03', '2020-01-15']) await used(day, 10_000);
    const query = jest.spyOn(plane.dataSource, 'query');
    expect(await ask()).toMatchObject({ status: 400, body: { code: 'statistics_range' } });
    const read = await Promise.all(
      query.mock.calls.flatMap(([sql], index) =>
        sql.includes('FROM usage_rollups')
          ? [query.mock.results[index]?.value as Promise<unknown[]>]
          : [],
      ),
    );
    expect(read.flat().length).toBeLessThanOrEqual(20_003);
    query.mockRestore();
    await ledger.query("DELETE FROM usage_rollups_daily WHERE day < '2020-02-01'");
  });

  test.each([
    'interval=second',
    'group_by=colour',
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    'interval=hour&from=2020-01-01T00:00:00Z',
    'surprise=1',
  ])('refuses the query %s', async (query) => {
    expect((await get(`/usage/statistics?${query}`, plane.adminToken)).status).toBe(400);
  });
});
