import { isWrongType, ReplyReader, UnexpectedReply } from '../connection/reply-reader.ts';

export interface SubscriptionRef {
  accountId: number;
  modelId: number;
}

export interface SubscriptionBalance extends SubscriptionRef {
  id: number;
  status: string;
  generation: number;
  /** Counts charged tokens; it is negative by what was used beyond any balance. */
  balance: number;
  held: number;
  /** Counts the requests running now. */
  running: number;
  creditSeq: number;
  /** Holds the revision of the row that was written here last. */
  revision: number;
}

export const BALANCE_FIELDS = ['st', 'id', 'gen', 'bal', 'held', 'conc', 'cseq', 'rev'] as const;

/** Describes a record with a field that Tollgate's functions never write: another program has. */
export class UnreadableBalance extends Error {
  readonly accountId: number;

  constructor({ accountId, modelId }: SubscriptionRef, cause: unknown) {
    super(`the balance of account ${accountId} for model ${modelId} cannot be read`, { cause });
    this.accountId = accountId;
  }
}

/** Awaits the read of a record; one of another type is as unreadable as one with other fields. */
export async function readableOf<T>(ref: SubscriptionRef, read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    throw isWrongType(error) ? new UnreadableBalance(ref, error) : error;
  }
}

/** Returns null where there is none. Throws `UnreadableBalance`. */
export function toBalance(ref: SubscriptionRef, values: unknown): SubscriptionBalance | null {
  if (Array.isArray(values) && values[0] === null) return null;
  try {
    return readBalance(ref, new ReplyReader(values));
  } catch (error) {
    if (error instanceof UnexpectedReply) throw new UnreadableBalance(ref, error);
    throw error;
  }
}

function readBalance(
  { accountId, modelId }: SubscriptionRef,
  reader: ReplyReader,
): SubscriptionBalance {
  return {
    accountId,
    modelId,
    status: reader.text(),
    id: reader.integer(),
    generation: reader.integer(),
    balance: reader.integer(),
    held: reader.integer(),
    running: reader.integer(),
    creditSeq: reader.integer(),
    revision: reader.integer(),
  };
}
