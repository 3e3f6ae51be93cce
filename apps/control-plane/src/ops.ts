import 'reflect-metadata';
import { onReaderGone } from '@tollgate/contracts';
import { runCommand } from './ops/run-command.ts';

// A command that has begun continues to its end, also without a reader.
onReaderGone(process.stdout, () => undefined);
void runCommand(process.argv.slice(2)).then((status) => void (process.exitCode = status));
