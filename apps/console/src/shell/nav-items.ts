import {
  Boxes,
  ChartColumn,
  FlaskConical,
  House,
  KeyRound,
  LayoutDashboard,
  Settings,
  Wallet,
  type LucideIcon,
} from 'lucide-react';
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
  { to: paths.market(), icon: Boxes, label: (words) => words.shell.nav.market },
  { to: paths.keys(), icon: KeyRound, label: (words) => words.shell.nav.keys },
  { to: paths.usage(), icon: ChartColumn, label: (words) => words.shell.nav.usage },
  { to: paths.wallet(), icon: Wallet, label: (words) => words.shell.nav.wallet },
  { to: paths.playground(), icon: FlaskConical, label: (words) => words.shell.nav.playground },
  { to: paths.settings(), icon: Settings, label: (words) => words.shell.nav.settings },
];

export const adminItems: readonly NavItem[] = [
  { to: paths.admin(), icon: LayoutDashboard, label: (words) => words.shell.nav.overview },
];
