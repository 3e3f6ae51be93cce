import { planBackup, takeBackup } from '../platform/database/backup/take-backup.ts';
import { counted, EXIT, onlyArgument, report, say, type Command } from './command.ts';
import { withSession } from './connections.ts';

export const backupCommand: Command = {
  synopsis: 'FOLDER',
  says: 'writes all of the database as of one moment into a new folder in FOLDER, with a manifest and checksums, while everything runs',
  run: (call) => {
    const parent = onlyArgument(call, 'the folder in which backups are kept');
    return withSession('reader', async (session) => {
      if (call.isDryRun) {
        for (const { name, estimate } of await planBackup(session))
          say(`${name} about ${counted(estimate, 'row')}`);
        return EXIT.done;
      }
      const { folder } = await takeBackup(session, parent, ({ name, rows, bytes }) =>
        report(`${name} ${counted(rows, 'row')}, ${counted(bytes, 'byte')}`),
      );
      say(folder);
      return EXIT.done;
    });
  },
};
