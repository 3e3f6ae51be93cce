import type { DataSource } from 'typeorm';
import { waitingRows, type WaitingRows } from '../../../platform/database/waiting-rows.ts';

/** Dead letters that wait for an administrator. */
export const waitingDeadLetters = (dataSource: Pick<DataSource, 'query'>): Promise<WaitingRows> =>
  waitingRows(dataSource, 'usage_dead_letters WHERE resolved_at IS NULL');
