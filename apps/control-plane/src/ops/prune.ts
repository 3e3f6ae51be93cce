import { configSchema } from '../config.ts';
import { DroppedDays } from '../features/usage/ingest/dropped-days.sql.ts';
import { UsagePartitions } from '../features/usage/ingest/usage-partitions.sql.ts';
import { Transactions } from '../platform/database/transactions.ts';
import { EXIT, noArguments, say, type Command } from './command.ts';
import { withDatabase } from './connections.ts';

export const pruneCommand: Command = {
  says: 'drops days of single requests older than USAGE_RETENTION_DAYS now, as control planes do every hour; USAGE_ARCHIVE counts',
  run: (call) => {
    noArguments(call);
    const settings = configSchema
      .pick({ USAGE_RETENTION_DAYS: true, USAGE_ARCHIVE: true })
      .parse(process.env);
    return withDatabase(async (dataSource) => {
      const partitions = new UsagePartitions(
        dataSource,
        new Transactions(dataSource),
        new DroppedDays(),
        settings,
      );
      const expired = await partitions.expired(Date.now());
      const days = [...expired.partitions.map(({ day }) => day), ...expired.strays];
      const gone = new Set(call.isDryRun ? [] : await partitions.drop(expired));
      for (const day of days)
        say(`${day} ${gone.has(day) ? 'dropped' : call.isDryRun ? 'expired' : 'kept'}`);
      return EXIT.done;
    });
  },
};
