/** Lists the ways in which a request ends, one row each. */
export const OUTCOME_ROWS = [
  /** The upstream finished. */
  { name: 'completed', isFailure: false, chargesUnseen: 'never' },
  /** The client closed the connection. */
  { name: 'client_closed', isFailure: false, chargesUnseen: 'always' },
  /** Nothing was delivered, so the request costs nothing. */
  { name: 'upstream_failed', isFailure: true, chargesUnseen: 'never' },
  /** The stream broke after output. */
  { name: 'upstream_interrupted', isFailure: true, chargesUnseen: 'never' },
  /** The gateway ended the stream at a checkpoint. */
  { name: 'balance_exhausted', isFailure: false, chargesUnseen: 'when_gone' },
  /** The gateway ended the stream at a checkpoint, or an administrator ended the request. */
  { name: 'access_revoked', isFailure: false, chargesUnseen: 'always' },
  /** The request outlasted the drain of a stopping node, or its node could not renew its hold in time. */
  { name: 'node_stopped', isFailure: true, chargesUnseen: 'when_gone' },
  /** The request was recovered from a journal or reaped, and is charged for the counted tokens. */
  { name: 'node_lost', isFailure: true, chargesUnseen: 'never' },
] as const satisfies readonly OutcomeRow[];

interface OutcomeRow {
  name: string;
  /** Is true when the caller got no usable answer. A closed connection of the caller and an empty balance are not failures. */
  isFailure: boolean;
  /** Says when the caller pays for generated output that was not shown: also when the caller ended the stream, only when the caller had left, or never. */
  chargesUnseen: 'always' | 'when_gone' | 'never';
}

export type Outcome = (typeof OUTCOME_ROWS)[number]['name'];
export const OUTCOMES = OUTCOME_ROWS.map(({ name }) => name);

const ROW_OF = new Map(OUTCOME_ROWS.map((row) => [row.name as string, row]));

/** Returns the row of an outcome. */
export function outcomeRow(outcome: Outcome): OutcomeRow {
  const row = ROW_OF.get(outcome);
  if (!row) throw new Error(`no outcome ${outcome}`);
  return row;
}
