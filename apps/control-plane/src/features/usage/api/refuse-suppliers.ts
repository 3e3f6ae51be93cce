import type { Caller } from '../../../platform/access/caller.ts';
import { invalidField } from '../../../platform/http/refusal.ts';

const FOR_ADMINISTRATORS = 'is for administrators';

/** Refuses, by invalid_request, a user who filters by data that only the operator may see: the upstream or the node. */
export function refuseSuppliers<Query extends object>(
  { role }: Caller,
  query: Query,
  fields: readonly (keyof Query & string)[],
): void {
  const asked = role === 'admin' ? undefined : fields.find((field) => query[field] !== undefined);
  if (asked !== undefined) throw invalidField(asked, FOR_ADMINISTRATORS);
}
