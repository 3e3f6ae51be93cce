import type { en } from './en.ts';
import { access } from './zh/access.ts';
import { admin } from './zh/admin.ts';
import { budgets } from './zh/budgets.ts';
import { general } from './zh/general.ts';
import { failures } from './zh/failures.ts';
import { fieldFaults } from './zh/field-faults.ts';
import { keys } from './zh/keys.ts';
import { market, subscription } from './zh/market.ts';
import { shell } from './zh/shell.ts';
import { overview } from './zh/overview.ts';
import { playground } from './zh/playground.ts';
import { settings } from './zh/settings.ts';
import { tables } from './zh/tables.ts';
import { request, usage } from './zh/usage.ts';
import { wallet } from './zh/wallet.ts';

export const zh: typeof en = {
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
