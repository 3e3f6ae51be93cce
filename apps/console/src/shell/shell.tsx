import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useEffect } from 'react';
import { meQuery, type Me } from '../api/session.ts';
import { followEvents } from '../api/events/stream.ts';
import { paths } from '../paths.ts';
import { useWords } from '../words/words.ts';
import { AccountMenu } from './account-menu.tsx';
import { CommandPalette } from './command-palette.tsx';
import { Navigation } from './navigation.tsx';
import { NavigationSheet } from './navigation-sheet.tsx';

const OwnPassword = lazy(async () => ({
  default: (await import('../features/access/own-password.tsx')).OwnPassword,
}));

/** Shows what surrounds every page of an account: navigation, the palette, the account. */
export function Shell() {
  const { data: me } = useQuery(meQuery);
  const location = useLocation();
  const navigate = useNavigate();
  const hasEnded = me === null;
  useEffect(() => {
    if (hasEnded) void navigate({ to: paths.login({ next: location.href }), replace: true });
    // The next sign-in continues where the session was lost; later addresses do not count.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [hasEnded]);
  const queries = useQueryClient();
  const isIn = me?.password_change_needed === false;
  useEffect(() => (isIn ? followEvents(queries) : undefined), [isIn, queries]);
  if (!me) return null;
  if (me.password_change_needed)
    return (
      <Suspense fallback={null}>
        <OwnPassword />
      </Suspense>
    );
  return <Frame me={me} />;
}

function Frame({ me }: { me: Me }) {
  const { shell } = useWords();
  const isAdmin = me.role === 'admin';
  return (
    <div className="flex min-h-dvh">
      <a
        href="#content"
        className="fixed top-2 left-2 z-50 -translate-y-16 rounded-md bg-accent px-3 py-2 text-on-accent focus:translate-y-0"
      >
        {shell.skip}
      </a>
      <aside className="sticky top-0 flex h-dvh w-14 shrink-0 flex-col border-r border-line bg-surface max-sm:hidden lg:w-58">
        <Navigation isAdmin={isAdmin} />
        <div className="mt-auto border-t border-line p-2">
          <AccountMenu me={me} />
        </div>
      </aside>
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="sticky top-0 z-20 flex h-12 items-center gap-2 border-b border-line bg-surface px-3 sm:hidden">
          <NavigationSheet isAdmin={isAdmin} me={me} />
          <span className="font-semibold">Tollgate</span>
        </header>
        <main id="content" tabIndex={-1} className="min-w-0 flex-1 outline-none">
          <Outlet />
        </main>
      </div>
      <CommandPalette isAdmin={isAdmin} />
    </div>
  );
}
