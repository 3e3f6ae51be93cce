import { Injectable } from '@nestjs/common';
import { formatAmount, micros, type Micros } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { afterCommit } from '../../platform/database/transactions.ts';
import { DomainEvents } from '../../platform/domain-events/domain-events.ts';
import { Refusal } from '../../platform/http/refusal.ts';

export type HouseAccount = 'payments' | 'revenue' | 'grants' | 'overdraft';
export type LedgerAccountRef = { kind: 'wallet'; userId: number } | { kind: HouseAccount };

export type LedgerKind =
  | 'recharge'
  | 'admin_recharge'
  | 'subscribe'
  | 'renew'
  | 'auto_recharge'
  | 'refund'
  | 'forfeit'
  | 'adjustment'
  | 'payout'
  | 'payout_return';

export interface Posting {
  kind: LedgerKind;
  /** Is the reference of the posting, unique per kind, so that a retry posts once. */
  reference: string;
  actorUserId: number | null;
  note?: string | undefined;
  /** Holds signed amounts that sum to zero: one account loses what another gains. Zero amounts are dropped. */
  entries: { account: LedgerAccountRef; amount: Micros }[];
}

export interface PostedTransaction {
  id: number;
  /** Holds the balance of each account of the posting, after it. */
  balances: { account: LedgerAccountRef; balance: bigint }[];
}

/** Is the largest amount of one posting: PostgreSQL's bigint. Balances are wider, because a house account balances all wallets together. */
const WALLET_MAX = 9_223_372_036_854_775_807n;
const accountRow = z.object({
  id: z.number(),
  kind: z.string(),
  user_id: z.number().nullable(),
  balance: z.coerce.bigint(),
});
type AccountRow = z.infer<typeof accountRow>;

/** Is published after the commit that brought money into a wallet. */
export class WalletCredited {
  constructor(readonly userId: number) {}
}

/** Keeps the double-entry ledger. It is append-only and balanced; the database enforces both, too. */
@Injectable()
export class LedgerService {
  constructor(private readonly events: DomainEvents) {}

  /**
   * Posts one transaction inside `tx`. Throws insufficient_funds (402) when a wallet would fall below zero.
   * Returns undefined when (kind, reference) was posted before, or when nothing moves.
   */
  async post(tx: EntityManager, posting: Posting): Promise<PostedTransaction | undefined> {
    const entries = posting.entries.filter((entry) => entry.amount !== 0n);
    if (entries.reduce((sum, entry) => sum + entry.amount, 0n) !== 0n)
      throw new Error(`ledger posting ${posting.kind} ${posting.reference} does not sum to zero`);
    if (entries.length === 0) return undefined;
    const id = await this.open(tx, posting);
    if (id === undefined) return undefined;
    const accounts = await this.lock(
      tx,
      entries.map((entry) => entry.account),
    );
    const balances: PostedTransaction['balances'] = [];
    for (const { account, amount } of entries)
      balances.push({
        account,
        balance: await this.move(tx, {
          transactionId: id,
          kind: posting.kind,
          row: find(accounts, account),
          amount,
        }),
      });
    this.announceCredits(tx, entries);
    return { id, balances };
  }

  /** Returns the balance of a wallet, locked until `tx` ends. */
  async walletForUpdate(tx: EntityManager, userId: number): Promise<Micros> {
    const wallet: LedgerAccountRef = { kind: 'wallet', userId };
    return micros(find(await this.lock(tx, [wallet]), wallet).balance);
  }

  private announceCredits(tx: EntityManager, entries: Posting['entries']): void {
    for (const { account, amount } of entries) {
      if (account.kind !== 'wallet' || amount <= 0n) continue;
      afterCommit(tx, () => this.events.publish(new WalletCredited(account.userId)));
    }
  }

  private async open(tx: EntityManager, posting: Posting): Promise<number | undefined> {
    const rows: unknown[] = await tx.query(
      'INSERT INTO ledger_transactions (kind, reference, actor_user_id, note) VALUES ($1, $2, $3, $4) ON CONFLICT (kind, reference) DO NOTHING RETURNING id',
      [posting.kind, posting.reference, posting.actorUserId, posting.note ?? null],
    );
    return rows[0] === undefined
      ? undefined
      : z.object({ id: z.coerce.number() }).parse(rows[0]).id;
  }

  /** Rows are locked in id order, so that two postings over the same accounts never deadlock. */
  private async lock(tx: EntityManager, accounts: LedgerAccountRef[]): Promise<AccountRow[]> {
    const userIds = accounts.flatMap((account) =>
      account.kind === 'wallet' ? [account.userId] : [],
    );
    const kinds = accounts.flatMap((account) => (account.kind === 'wallet' ? [] : [account.kind]));
    await tx.query(
      "INSERT INTO ledger_accounts (kind, user_id) SELECT 'wallet', unnest($1::int[]) ON CONFLICT DO NOTHING",
      [userIds],
    );
    const rows: unknown[] = await tx.query(
      'SELECT id, kind, user_id, balance FROM ledger_accounts WHERE user_id = ANY($1) OR kind = ANY($2) ORDER BY id FOR UPDATE',
      [userIds, kinds],
    );
    return rows.map((row) => accountRow.parse(row));
  }

  private async move(
    tx: EntityManager,
    {
      transactionId,
      kind,
      row,
      amount,
    }: { transactionId: number; kind: LedgerKind; row: AccountRow; amount: Micros },
  ): Promise<bigint> {
    const balance = row.balance + amount;
    if (row.kind === 'wallet' && balance < 0n)
      throw new Refusal('insufficient_funds', {
        detail: `This costs ${formatAmount(-amount)}; the wallet holds ${formatAmount(row.balance)}`,
      });
    // A refund must not be refused: it comes from the queue, and all usage would wait behind it.
    if (row.kind === 'wallet' && balance > WALLET_MAX && kind !== 'refund')
      throw new Refusal('balance_limit');
    row.balance = balance;
    await tx.query('UPDATE ledger_accounts SET balance = $2 WHERE id = $1', [
      row.id,
      balance.toString(),
    ]);
    await tx.query(
      'INSERT INTO ledger_entries (transaction_id, ledger_account_id, amount, balance_after) VALUES ($1, $2, $3, $4)',
      [transactionId, row.id, amount.toString(), balance.toString()],
    );
    return balance;
  }
}

function find(rows: AccountRow[], account: LedgerAccountRef): AccountRow {
  const row = rows.find((candidate) =>
    account.kind === 'wallet'
      ? candidate.user_id === account.userId
      : candidate.kind === account.kind,
  );
  if (!row) throw new Error(`no ledger account ${account.kind}`);
  return row;
}
