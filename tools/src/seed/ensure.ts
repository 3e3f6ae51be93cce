import { z } from 'zod';
import { AdminRefusal, type AdminClient } from '../admin-client.ts';

const CONFLICT = 409;
const listed = z.object({ id: z.number().int() });

/** Creates something, or finds what an earlier, interrupted seed has created. Returns its id. */
export async function ensure({
  create,
  admin,
  list,
  matches,
}: {
  create: () => Promise<number>;
  admin: AdminClient;
  list: string;
  matches: (row: Record<string, unknown>) => boolean;
}): Promise<number> {
  const found = (await admin.list(list)).find(matches);
  return found ? listed.parse(found).id : create();
}

/** Runs a step whose conflict means that it has been done before. */
export async function unlessDone(step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof AdminRefusal) || error.status !== CONFLICT) throw error;
  }
}
