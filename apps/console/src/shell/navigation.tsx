import { Link, useLocation } from '@tanstack/react-router';
import { Search } from '../ui/icons.tsx';
import { paths } from '../paths.ts';
import { useWords } from '../words/words.ts';
import { loadPalette, openPalette } from './command-palette.tsx';
import { Logo } from '../ui/logo.tsx';
import { adminItems, userItems, type NavItem } from './nav-items.ts';

interface NavigationProps {
  isAdmin: boolean;
  isWide?: boolean;
  onGo?: () => void;
}

/** Shows icons alone on narrow screens, unless it is in the sheet (`isWide`). */
export function Navigation({ isAdmin, isWide = false, onGo }: NavigationProps) {
  const words = useWords();
  const { pathname } = useLocation();
  const isAdminHat = isAdmin && isUnder(pathname, paths.admin());
  const items = isAdminHat ? adminItems : userItems;
  const text = isWide ? '' : 'max-lg:sr-only';
  const active = items
    .filter(({ to, records = to }) => isUnder(pathname, to) || isUnder(pathname, records))
    .toSorted((a, b) => b.to.length - a.to.length)[0];
  return (
    <div className="flex min-h-0 flex-col">
      <div className="flex h-12 items-center gap-2.5 px-4">
        <Logo />
        <span className={`text-lead font-semibold tracking-tight ${text}`}>
          {words.general.product}
        </span>
      </div>
      {isAdmin && (
        <div className={isWide ? 'px-2 pb-2' : 'px-2 pb-2 max-lg:hidden'}>
          <HatSwitch isAdminHat={isAdminHat} onGo={onGo} />
        </div>
      )}
      <FindButton isWide={isWide} />
      <nav aria-label={words.shell.navigation} className="overflow-y-auto px-2">
        <ul className="flex flex-col gap-0.5">
          {items.map((item) => (
            <li key={item.to}>
              <NavLink item={item} isActive={item === active} text={text} onGo={onGo} />
            </li>
          ))}
          {isAdmin && !isWide && (
            <li className="mt-2 border-t border-line pt-2 lg:hidden">
              <HatLink isAdminHat={isAdminHat} />
            </li>
          )}
        </ul>
      </nav>
    </div>
  );
}

function FindButton({ isWide }: { isWide: boolean }) {
  const { shell } = useWords();
  return (
    <button
      type="button"
      onClick={openPalette}
      onPointerEnter={() => void loadPalette()}
      className={`mx-2 mb-2 flex h-8 items-center gap-2.5 rounded-md border border-line bg-bg px-2 text-text-3 hover:border-line-strong ${isWide ? '' : 'max-lg:justify-center'}`}
    >
      <Search aria-hidden className="size-4 shrink-0" />
      <span className={`flex-1 text-left ${isWide ? '' : 'max-lg:sr-only'}`}>{shell.find}</span>
      <kbd className={`text-tiny ${isWide ? 'hidden' : 'max-lg:hidden'}`}>Ctrl K</kbd>
    </button>
  );
}

function isUnder(pathname: string, to: string): boolean {
  return pathname === to || (to !== '/' && pathname.startsWith(`${to}/`));
}

function NavLink({
  item: { to, icon: Icon, label },
  isActive,
  text,
  onGo,
}: {
  item: NavItem;
  isActive: boolean;
  text: string;
  onGo: (() => void) | undefined;
}) {
  const words = useWords();
  return (
    <Link
      to={to}
      title={label(words)}
      onClick={onGo}
      // Without this the router marks every address above the present one, too.
      activeOptions={{ exact: true, includeSearch: false }}
      {...(isActive && { 'aria-current': 'page' as const })}
      className="flex h-8 items-center gap-2.5 rounded-md px-2.5 font-medium text-text-2 hover:bg-sunken hover:text-text aria-[current=page]:bg-sunken aria-[current=page]:text-text"
    >
      <Icon aria-hidden className="size-4 shrink-0" />
      <span className={text}>{label(words)}</span>
    </Link>
  );
}

/** Switches between the pages of users and of administrators. */
function HatSwitch({ isAdminHat, onGo }: { isAdminHat: boolean; onGo: (() => void) | undefined }) {
  const { shell } = useWords();
  const hats = [
    { to: paths.home(), label: shell.myAccount, isOn: !isAdminHat },
    { to: paths.admin(), label: shell.administration, isOn: isAdminHat },
  ];
  return (
    <nav
      aria-label={shell.hat}
      className="grid grid-cols-2 gap-0.5 rounded-md bg-sunken p-0.5 text-table"
    >
      {hats.map(({ to, label, isOn }) => (
        <Link
          key={to}
          to={to}
          onClick={onGo}
          activeProps={{}}
          data-on={isOn || undefined}
          className="truncate rounded-sm px-1 py-1 text-center font-medium text-text-2 hover:text-text data-on:bg-surface data-on:text-text"
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}

/** Is the same switch where there is room for an icon only. */
function HatLink({ isAdminHat }: { isAdminHat: boolean }) {
  const { shell } = useWords();
  const item = isAdminHat ? userItems[0] : adminItems[0];
  if (!item) return null;
  const label = isAdminHat ? shell.myAccount : shell.administration;
  return (
    <NavLink
      item={{ ...item, label: () => label }}
      isActive={false}
      text="sr-only"
      onGo={undefined}
    />
  );
}
