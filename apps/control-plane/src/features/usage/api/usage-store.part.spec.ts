import { describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { Transactions } from '../../../platform/database/transactions.ts';
import { Refusal } from '../../../platform/http/refusal.ts';
import { plane } from './usage-api-under-test.ts';
import { UsageStore } from './usage-store.sql.ts';

class HastyStore extends UsageStore {
  protected override readonly questionMs = 200;
}

describe('questions about requests', () => {
  test('one that takes too long is refused with what to narrow, and is no failure of the server', async () => {
    const holder = new pg.Client({ connectionString: plane.services.databaseUrl });
    await holder.connect();
    try {
      await holder.query('BEGIN; LOCK TABLE usage_events IN ACCESS EXCLUSIVE MODE');
      const store = new HastyStore(plane.app.get(Transactions, { strict: false }));
      const asked = store.requests({ userId: 1, beforeRid: undefined, limit: 1 });
      const refusal = await asked.catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(Refusal);
      expect(refusal).toMatchObject({
        code: 'query_too_large',
        status: 400,
        context: { detail: expect.stringContaining('shorter period') },
      });
    } finally {
      await holder.end();
    }
  });

  test('a rare model, upstream, outcome or node is looked for in the places that may have it, alone and with an account', async () => {
    const rare = [
      "outcome = 'node_lost'",
      'model_id = 7',
      'upstream_id = 7',
      "split_part(node, ':', 1) = 'x'",
    ];
    const session = new pg.Client({ connectionString: plane.services.databaseUrl });
    await session.connect();
    try {
      // Few rows are read at once: without this PostgreSQL chooses by their number, not by what it can do.
      await session.query(
        'BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off',
      );
      for (const condition of rare) {
        const { rows } = await session.query<{ 'QUERY PLAN': string }>(
          `EXPLAIN SELECT 1 FROM usage_events WHERE ${condition}`,
        );
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
        expect(plan).toMatch(
          /Bitmap Index Scan on usage_events_\d+_model_id_upstream_id_split_part_outco_idx/,
        );
      }
    } finally {
      await session.end();
    }
  });
});
