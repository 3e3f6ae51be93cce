import type { Words } from './words.ts';
import { access } from './zh/access.ts';
import { common } from './zh/common.ts';
import { failures } from './zh/failures.ts';
import { shell } from './zh/shell.ts';

export const zh: Words = { access, common, failures, shell };
