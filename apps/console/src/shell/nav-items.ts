import { House, LayoutDashboard, type LucideIcon } from 'lucide-react';
import { paths } from '../paths.ts';
import type { Words } from '../words/words.ts';

export interface NavItem {
  to: string;
  icon: LucideIcon;
  label: (words: Words) => string;
}

/** One line a page, in the order in which they are shown. */
export const userItems: readonly NavItem[] = [
  { to: paths.home(), icon: House, label: (words) => words.shell.nav.overview },
];

export const adminItems: readonly NavItem[] = [
  { to: paths.admin(), icon: LayoutDashboard, label: (words) => words.shell.nav.overview },
];
