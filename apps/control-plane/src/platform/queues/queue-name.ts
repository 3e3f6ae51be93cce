import { USAGE_QUEUE } from '@tollgate/contracts';

/** Every queue that is filled; each must have a processor, or the process does not start. */
export const QUEUES = [USAGE_QUEUE] as const;
export type QueueName = (typeof QUEUES)[number];
