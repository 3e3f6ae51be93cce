import { USAGE_QUEUE } from '@tollgate/contracts';

/** Lists every queue that receives jobs. The process does not start when one lacks a processor. */
export const QUEUES = [USAGE_QUEUE] as const;
export type QueueName = (typeof QUEUES)[number];
