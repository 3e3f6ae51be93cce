import { z } from 'zod';
import { ActivityService } from '../features/activity/activity.service.ts';
import { eraseAccount } from '../features/users/erase-account.sql.ts';
import { Transactions } from '../platform/database/transactions.ts';
import { counted, EXIT, onlyArgument, say, UsageError, type Command } from './command.ts';
import { withDatabase } from './connections.ts';

const id = z.coerce.number().int().positive();

export const eraseCommand: Command = {
  synopsis: 'USER_ID',
  says: 'empties what names the person of a deleted account: its name, sessions, names of keys, notes in the ledger, its entries of the activity log',
  run: (call) => {
    const userId = id.safeParse(onlyArgument(call, 'the id of an account')).data;
    if (userId === undefined) throw new UsageError('This command takes the id of an account.');
    return withDatabase(async (dataSource) => {
      const erased = await new Transactions(dataSource).run((tx) =>
        eraseAccount(tx, new ActivityService(dataSource), { userId, isDryRun: call.isDryRun }),
      );
      if (erased === null) throw new Error(`There is no account ${userId}.`);
      for (const [table, rows] of Object.entries(erased)) say(`${table} ${counted(rows, 'row')}`);
      return EXIT.done;
    });
  },
};
