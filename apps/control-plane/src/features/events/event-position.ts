/** Is a position in `stream_events`: the transaction, then the number. It is the id of a streamed event and the same at every replica. */
export interface EventPosition {
  xid: bigint;
  id: bigint;
}

const TEXT = /^(\d{1,19})\.(\d{1,19})$/;
const INT8_MAX = 9_223_372_036_854_775_807n;

export function formatPosition({ xid, id }: EventPosition): string {
  return `${xid}.${id}`;
}

/** Returns undefined for a text that no stream has given out. */
export function parsePosition(text: string): EventPosition | undefined {
  const [, xidText, idText] = TEXT.exec(text) ?? [];
  if (xidText === undefined || idText === undefined) return undefined;
  const position = { xid: BigInt(xidText), id: BigInt(idText) };
  return position.xid <= INT8_MAX && position.id <= INT8_MAX ? position : undefined;
}

export function isAfter(one: EventPosition, other: EventPosition): boolean {
  return one.xid > other.xid || (one.xid === other.xid && one.id > other.id);
}
