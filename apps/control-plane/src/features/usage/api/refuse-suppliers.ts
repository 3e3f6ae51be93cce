import type { Caller } from '../../../platform/access/caller.ts';
import { invalidField } from '../../../platform/http/refusal.ts';

const FOR_ADMINISTRATORS = 'is for administrators';

/** Throws invalid_request where a user asks by what only the operator knows: by upstream or by node. */
export function refuseSuppliers<Query extends object>(
  { role }: Caller,
  query: Query,
  fields: readonly (keyof Query & string)[],
): void {
  const asked = role === 'admin' ? undefined : fields.find((field) => query[field] !== undefined);
  if (asked !== undefined) throw invalidField(asked, FOR_ADMINISTRATORS);
}
