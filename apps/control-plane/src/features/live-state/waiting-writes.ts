import type { DataSource } from 'typeorm';
import { waitingRows, type WaitingRows } from '../../platform/database/waiting-rows.ts';

/** Changes of keys, accounts and subscriptions that are not in Redis yet. */
export const waitingWrites = (dataSource: Pick<DataSource, 'query'>): Promise<WaitingRows> =>
  waitingRows(dataSource, 'live_state_outbox');
