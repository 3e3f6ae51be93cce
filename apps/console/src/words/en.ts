import { access } from './en/access.ts';
import { admin } from './en/admin.ts';
import { budgets } from './en/budgets.ts';
import { general } from './en/general.ts';
import { failures } from './en/failures.ts';
import { fieldFaults } from './en/field-faults.ts';
import { keys } from './en/keys.ts';
import { market, subscription } from './en/market.ts';
import { shell } from './en/shell.ts';
import { overview } from './en/overview.ts';
import { playground } from './en/playground.ts';
import { settings } from './en/settings.ts';
import { tables } from './en/tables.ts';
import { request, usage } from './en/usage.ts';
import { wallet } from './en/wallet.ts';

/** Is the one catalogue, in English; `zh.ts` has the same entries. A page adds one file to both folders and one line here. */
export const en = {
  access,
  admin,
  budgets,
  failures,
  fieldFaults,
  general,
  keys,
  market,
  overview,
  playground,
  request,
  settings,
  shell,
  subscription,
  tables,
  usage,
  wallet,
};
