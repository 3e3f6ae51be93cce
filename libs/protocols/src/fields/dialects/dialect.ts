import type { ClientProtocol } from '../../exchange.ts';

/** The endpoints whose bodies reach an upstream. */
export type FieldsOf = ClientProtocol | 'conversations';

/**
 * The fields that one kind of server documents and that a gateway's customer may set: what the vendor of a protocol defines, and what other servers
 * add to sample, to constrain and to shape an answer. Fields that choose a route, an adapter, an address, a credential, a queue or who is billed have
 * no place in a table.
 */
export interface Dialect {
  readonly source: string;
  /** The day on which its documentation was read. */
  readonly read: string;
  /**
   * Lists fields by endpoint. `a`: the value passes whole. `a.b`: of the object `a`, listed members pass. `a.*`: labels of the caller's own, which pass as far as
   * they are texts, numbers and booleans that no gateway takes for an instruction.
   */
  readonly fields: Readonly<Partial<Record<FieldsOf, readonly string[]>>>;
}
