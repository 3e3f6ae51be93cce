import { archiveUsage } from '../features/usage/archive/archive-usage.sql.ts';
import { FolderStore, type ArchiveStore } from '../features/usage/archive/archive-store.ts';
import { S3Store } from '../features/usage/archive/s3-store.ts';
import { EXIT, onlyArgument, say, UsageError, type Command } from './command.ts';
import { withDatabase } from './connections.ts';

export const exportCommand: Command = {
  synopsis: 'FOLDER',
  says: 'writes each finished day of single requests as a gzipped CSV file with a manifest and checksums, into a folder or s3://BUCKET/FOLDER; continues where an interrupted one was',
  run: (call) => {
    const store = storeOf(onlyArgument(call, 'the folder of the archive'));
    return withDatabase(async (dataSource) => {
      for await (const { day, rows, state } of archiveUsage(dataSource, {
        store,
        isDryRun: call.isDryRun,
      }))
        say(`${day} ${rows} rows ${state}`);
      return EXIT.done;
    });
  },
};

/** Credentials and server of a bucket have the names that other programs for S3 use. */
function storeOf(place: string): ArchiveStore {
  if (!place.startsWith('s3://')) return new FolderStore(place);
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
    AWS_REGION: region = 'us-east-1',
    AWS_ENDPOINT_URL_S3: endpoint,
  } = process.env;
  if (!accessKeyId || !secretAccessKey)
    throw new UsageError('A bucket needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.');
  return new S3Store(place, { accessKeyId, secretAccessKey, sessionToken, region, endpoint });
}
