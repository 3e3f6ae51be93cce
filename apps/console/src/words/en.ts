import { access } from './en/access.ts';
import { general } from './en/general.ts';
import { failures } from './en/failures.ts';
import { shell } from './en/shell.ts';

/** The one catalogue, in English; `zh.ts` has the same entries. A page adds one file to both folders and one line here. */
export const en = { access, failures, general, shell };
