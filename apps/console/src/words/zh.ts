import type { en } from './en.ts';
import { access } from './zh/access.ts';
import { common } from './zh/general.ts';
import { failures } from './zh/failures.ts';
import { shell } from './zh/shell.ts';

export const zh: typeof en = { access, common, failures, shell };
