import { Dialog } from '@base-ui/react/dialog';
import type { Me } from '../api/session.ts';
import { useWords } from '../words/words.ts';
import { AccountMenu } from './account-menu.tsx';
import { Navigation } from './navigation.tsx';

interface NavigationPanelProps {
  isAdmin: boolean;
  me: Me;
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
}

/** Shows what the button of small screens opens. */
export function NavigationPanel({ isAdmin, me, isOpen, onOpenChange }: NavigationPanelProps) {
  const { shell } = useWords();
  return (
    <Dialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="enters fixed inset-0 z-30 bg-veil" />
        <Dialog.Popup className="enters fixed inset-y-0 left-0 z-30 flex w-64 flex-col border-r border-line bg-surface">
          <Dialog.Title className="sr-only">{shell.navigation}</Dialog.Title>
          <Navigation isAdmin={isAdmin} isWide onGo={() => onOpenChange(false)} />
          <div className="mt-auto border-t border-line p-2">
            <AccountMenu me={me} isWide />
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
