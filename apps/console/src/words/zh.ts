import type { en } from './en.ts';
import { access } from './zh/access.ts';
import { general } from './zh/general.ts';
import { failures } from './zh/failures.ts';
import { shell } from './zh/shell.ts';

export const zh: typeof en = { access, failures, general, shell };
