import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { lastSeenOf } from '../../platform/access/session-rows.ts';
import { lastUseOf, PRICES_OF_MONTH, spendOfMonth, spentInMonth } from '../usage/spend.sql.ts';
import { ACCOUNTS, IS_LIVING, whichAccounts } from '../users/which-accounts.sql.ts';
import { joinWallet } from '../wallet/read-ledger.sql.ts';
import type { DirectoryQuery, DirectorySort } from './directory.dto.ts';

const accountRow = z.object({
  id: z.number(),
  balance: z.coerce.bigint(),
  spend: z.coerce.bigint(),
  last_used_at: z.date().nullable(),
  last_seen_at: z.date().nullable(),
});
export type AccountFigures = z.output<typeof accountRow>;

const LAST_USED = lastUseOf('account.id');
const SORTS: Readonly<Record<DirectorySort, string>> = {
  id: 'account.id',
  username: 'account.username',
  status: 'account.status',
  role: 'account.role',
  created_at: 'account.created_at',
  balance: 'coalesce(wallet.balance, 0)',
  spend_30d: 'coalesce(spent.spend, 0)',
  last_used_at: LAST_USED,
};

/** Returns the accounts of a page, in order, with their figures. Figures by which the list is not sorted are computed only for the rows of the page. */
export async function listAccounts(
  source: Pick<DataSource, 'query'>,
  query: DirectoryQuery,
): Promise<AccountFigures[]> {
  const isDescending = query.sort.startsWith('-');
  const name = (isDescending ? query.sort.slice(1) : query.sort) as DirectorySort;
  const isBySpend = name === 'spend_30d';
  const direction = isDescending ? 'DESC NULLS LAST' : 'ASC NULLS FIRST';
  const { sql, parameters } = whichAccounts(query);
  const bind = (value: unknown): string => `$${parameters.push(value)}`;
  const spent = isBySpend
    ? `LEFT JOIN ${spentInMonth((await pricesOfMonth(source)).map(bind))} spent ON spent.user_id = account.id`
    : '';
  return figures(source, {
    spend: isBySpend ? SORTS.spend_30d : spendOfMonth('account.id'),
    from: `${spent} WHERE ${sql} ORDER BY ${SORTS[name]} ${direction}, account.id ${direction}
      LIMIT ${bind(query.page_size)} OFFSET ${bind((query.page - 1) * query.page_size)}`,
    parameters,
  });
}

async function pricesOfMonth(source: Pick<DataSource, 'query'>): Promise<unknown[]> {
  const [row]: { at: unknown; models: unknown; prices: unknown }[] =
    await source.query(PRICES_OF_MONTH);
  return [row?.at ?? [], row?.models ?? [], row?.prices ?? []];
}

export async function countListed(
  source: Pick<DataSource, 'query'>,
  query: DirectoryQuery,
): Promise<number> {
  const { sql, parameters } = whichAccounts(query);
  const [row]: { count: number }[] = await source.query(
    `SELECT count(*)::int AS count FROM ${ACCOUNTS} WHERE ${sql}`,
    parameters,
  );
  return row?.count ?? 0;
}

export async function oneAccount(
  source: Pick<DataSource, 'query'>,
  id: number,
): Promise<AccountFigures | undefined> {
  const [found] = await figures(source, {
    spend: spendOfMonth('account.id'),
    from: `WHERE account.id = $1 AND ${IS_LIVING}`,
    parameters: [id],
  });
  return found;
}

async function figures(
  source: Pick<DataSource, 'query'>,
  { spend, from, parameters }: { spend: string; from: string; parameters: unknown[] },
): Promise<AccountFigures[]> {
  const rows: unknown[] = await source.query(
    `SELECT account.id, coalesce(wallet.balance, 0)::text AS balance, (${spend})::bigint AS spend, ${LAST_USED} AS last_used_at,
       ${lastSeenOf('account.id')} AS last_seen_at
     FROM ${ACCOUNTS} ${joinWallet('account.id')} ${from}`,
    parameters,
  );
  return rows.map((row) => accountRow.parse(row));
}
