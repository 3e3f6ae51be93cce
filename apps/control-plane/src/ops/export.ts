import { archiveUsage } from '../features/usage/archive/archive-usage.ts';
import { EXIT, onlyArgument, say, type Command } from './command.ts';
import { withDatabase } from './connections.ts';

export const exportCommand: Command = {
  synopsis: 'FOLDER',
  says: 'writes each finished day of single requests as a gzipped CSV file with a manifest and checksums; goes on where an interrupted one was',
  run: (call) => {
    const folder = onlyArgument(call, 'the folder of the archive');
    return withDatabase(async (dataSource) => {
      for await (const { day, rows, state } of archiveUsage(dataSource, {
        folder,
        isDryRun: call.isDryRun,
      }))
        say(`${day} ${rows} rows ${state}`);
      return EXIT.done;
    });
  },
};
