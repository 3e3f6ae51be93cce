import { Dialog } from '@base-ui/react/dialog';
import { Menu as MenuIcon } from '../ui/icons.tsx';
import { useState } from 'react';
import type { Me } from '../api/session.ts';
import { useWords } from '../words/words.ts';
import { AccountMenu } from './account-menu.tsx';
import { Navigation } from './navigation.tsx';

/** The navigation of small screens. */
export function NavigationSheet({ isAdmin, me }: { isAdmin: boolean; me: Me }) {
  const { shell } = useWords();
  const [isOpen, setOpen] = useState(false);
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger
        aria-label={shell.openNavigation}
        className="rounded-md p-2 text-text-2 hover:bg-sunken"
      >
        <MenuIcon aria-hidden className="size-5" />
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="enters fixed inset-0 z-30 bg-veil" />
        <Dialog.Popup className="enters fixed inset-y-0 left-0 z-30 flex w-64 flex-col border-r border-line bg-surface">
          <Dialog.Title className="sr-only">{shell.navigation}</Dialog.Title>
          <Navigation isAdmin={isAdmin} isWide onGo={() => setOpen(false)} />
          <div className="mt-auto border-t border-line p-2">
            <AccountMenu me={me} isWide />
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
