import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';

const logger = new Logger('postgres');

/**
 * Checks the session's settings, because a pooler before PostgreSQL may drop the ones that a connection asks for (`dataSourceOptions`). Throws where
 * charges would be booked on other days or statements would not see the rows that their locks waited for; warns where only a timeout is missing.
 */
export async function requireSessionSettings(dataSource: DataSource): Promise<void> {
  const [row]: { zone: string; timeout: string; isolation: string; role: string }[] =
    await dataSource.query(
      "SELECT current_setting('TimeZone') AS zone, current_setting('statement_timeout') AS timeout, current_setting('default_transaction_isolation') AS isolation, current_user AS role",
    );
  if (!row) return;
  if (!['UTC', 'Etc/UTC'].includes(row.zone))
    throw new Error(
      `PostgreSQL's sessions have the time zone ${row.zone} and need UTC: a pooler leaves out the settings of connections.\n  Fix: ALTER ROLE "${row.role}" SET timezone = 'UTC', then let the pooler open new connections.`,
    );
  if (row.isolation !== 'read committed')
    throw new Error(
      `PostgreSQL's transactions are ${row.isolation} and need read committed: a pooler leaves out the settings of connections.\n  Fix: ALTER ROLE "${row.role}" SET default_transaction_isolation = 'read committed', then let the pooler open new connections.`,
    );
  if (row.timeout === '0')
    logger.warn(
      `statements have no time limit, because a pooler leaves out the settings of connections; set it with ALTER ROLE "${row.role}" SET statement_timeout = '30s'`,
    );
}
