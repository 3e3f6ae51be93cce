import {
  Bell,
  BookCheck,
  Boxes,
  ChartColumn,
  FlaskConical,
  House,
  KeyRound,
  History,
  Layers,
  LayoutDashboard,
  Plug,
  Server,
  Settings,
  Users,
  Wallet,
  Waypoints,
  type Icon,
} from '../ui/icons.tsx';
import { paths } from '../paths.ts';
import type { Words } from '../words/words.ts';

export interface NavItem {
  to: string;
  /** Names pages of single records whose address does not begin with `to`. */
  records?: string;
  icon: Icon;
  label: (words: Words) => string;
}

/** Lists the pages, one line a page, in the order in which they are shown. */
export const userItems: readonly NavItem[] = [
  { to: paths.home(), icon: House, label: (words) => words.shell.nav.overview },
  { to: paths.market(), records: '/models', icon: Boxes, label: (words) => words.shell.nav.market },
  { to: paths.keys(), icon: KeyRound, label: (words) => words.shell.nav.keys },
  { to: paths.usage(), icon: ChartColumn, label: (words) => words.shell.nav.usage },
  { to: paths.wallet(), icon: Wallet, label: (words) => words.shell.nav.wallet },
  { to: paths.playground(), icon: FlaskConical, label: (words) => words.shell.nav.playground },
  { to: paths.settings(), icon: Settings, label: (words) => words.shell.nav.settings },
];

export const adminItems: readonly NavItem[] = [
  { to: paths.admin(), icon: LayoutDashboard, label: (words) => words.admin.overview.title },
  { to: paths.adminUsage(), icon: ChartColumn, label: (words) => words.shell.nav.usage },
  {
    to: paths.adminUsers(),
    records: '/admin/keys',
    icon: Users,
    label: (words) => words.admin.users.title,
  },
  { to: paths.adminModels(), icon: Boxes, label: (words) => words.admin.models.title },
  { to: paths.adminUpstreams(), icon: Plug, label: (words) => words.admin.upstreams.title },
  { to: paths.adminRouting(), icon: Waypoints, label: (words) => words.admin.routing.title },
  { to: paths.adminNodes(), icon: Server, label: (words) => words.admin.nodes.title },
  { to: paths.adminSnapshots(), icon: Layers, label: (words) => words.admin.snapshots.title },
  { to: paths.adminAlerts(), icon: Bell, label: (words) => words.admin.alerts.title },
  { to: paths.adminActivity(), icon: History, label: (words) => words.admin.activity.title },
  { to: paths.adminBooks(), icon: BookCheck, label: (words) => words.admin.books.title },
];
