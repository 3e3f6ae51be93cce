import { lazy, useState } from 'react';
import type { Me } from '../api/session.ts';
import { Menu as MenuIcon } from '../ui/icons.tsx';
import { OnceOpened } from '../ui/once-opened.tsx';
import { useWords } from '../words/words.ts';

const NavigationPanel = lazy(async () => ({
  default: (await import('./navigation-panel.tsx')).NavigationPanel,
}));

/** Shows the navigation of small screens; wide ones never load what it opens. */
export function NavigationSheet({ isAdmin, me }: { isAdmin: boolean; me: Me }) {
  const { shell } = useWords();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        aria-label={shell.openNavigation}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setOpen(true)}
        className="rounded-md p-2 text-text-2 hover:bg-sunken"
      >
        <MenuIcon aria-hidden className="size-5" />
      </button>
      <OnceOpened isOpen={isOpen}>
        <NavigationPanel isAdmin={isAdmin} me={me} isOpen={isOpen} onOpenChange={setOpen} />
      </OnceOpened>
    </>
  );
}
