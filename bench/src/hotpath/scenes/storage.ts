import type pg from 'pg';
import { withDatabase } from './database.ts';
import type { Scene } from './scene.ts';

const SECONDS = 20;

interface Standing {
  bytes: number;
  walBytes: number;
  commits: number;
}

/** Measures the rows and bytes that a request leaves in PostgreSQL, from serving to booking. */
export const storage: Scene = async ({ subjects }) => {
  for (const { installation, figures } of subjects) {
    await withDatabase(installation, async (database) => {
      await installation.audit();
      const before = await standingOf(database);
      const { requests } = await installation.load({ seconds: SECONDS });
      await installation.audit();
      const after = await standingOf(database);
      const each = (name: keyof Standing): number => (after[name] - before[name]) / requests;
      figures.add('PostgreSQL: tables and indexes a request', 'bytes', each('bytes'));
      figures.add('PostgreSQL: WAL a request', 'bytes', each('walBytes'));
      figures.add('PostgreSQL: commits a request', 'commits', each('commits'));
    });
  }
};

async function standingOf(database: pg.Client): Promise<Standing> {
  const { rows } = await database.query<Record<keyof Standing, string>>(`
    SELECT pg_database_size(current_database()) AS bytes, pg_current_wal_lsn() - '0/0' AS "walBytes",
      (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS commits`);
  const [row] = rows;
  return {
    bytes: Number(row?.bytes),
    walBytes: Number(row?.walBytes),
    commits: Number(row?.commits),
  };
}
