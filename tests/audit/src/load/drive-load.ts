import { letPass } from '@tollgate/harness';
import type { ClientRecord, Target } from './client-record.ts';
import type { RequestPlan } from './plan-requests.ts';
import { sendRequest } from './send-request.ts';

/** Is the pause after a failure, so that an outage of a second does not eat up the whole load. */
const PAUSE_AFTER_FAILURE_MS = 100;

export interface DriveOptions {
  plans: readonly RequestPlan[];
  targetOf: (plan: RequestPlan) => Target;
  concurrency: number;
  /** Is called after each request, with the share that is done. */
  onProgress: (progress: number) => void;
}

/** Sends all requests, so many at a time, in order of the plan. */
export async function driveLoad({
  plans,
  targetOf,
  concurrency,
  onProgress,
}: DriveOptions): Promise<ClientRecord[]> {
  const records: ClientRecord[] = [];
  const left = plans.values();
  const client = async (): Promise<void> => {
    for (const plan of left) {
      const record = await sendRequest(plan, targetOf(plan));
      records.push(record);
      onProgress(records.length / plans.length);
      if (['refused', 'broken', 'unreached'].includes(record.ending))
        await letPass(PAUSE_AFTER_FAILURE_MS, 'a client pauses after a failure');
    }
  };
  await Promise.all(Array.from({ length: concurrency }, client));
  return records;
}
