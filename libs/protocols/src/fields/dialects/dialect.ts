import type { ClientProtocol } from '../../exchange.ts';

/** Names the endpoints whose bodies reach an upstream. */
export type FieldsOf = ClientProtocol | 'conversations';

/**
 * Lists the fields that one kind of server documents and that a customer of a gateway may set: those that the vendor defines, and those that other
 * servers add to sample, constrain and shape an answer. Fields that choose a route, an adapter, an address, a credential, a queue or who is billed do
 * not belong in a table.
 */
export interface Dialect {
  readonly source: string;
  /** Is the day on which its documentation was read. */
  readonly read: string;
  /**
   * Lists fields by endpoint. `a` passes the whole value. `a.b` passes listed members of the object `a`. `a.*` passes the caller's own labels, as far
   * as they are texts, numbers and booleans that no gateway reads as an instruction.
   */
  readonly fields: Readonly<Partial<Record<FieldsOf, readonly string[]>>>;
}
