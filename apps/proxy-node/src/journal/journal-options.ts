import type { Logger } from 'pino';
import type { LockParts } from './journal-lock.ts';

export interface JournalOptions extends LockParts {
  folder: string;
  log: Pick<Logger, 'error' | 'warn' | 'info'>;
  fileBytesMax?: number;
}
