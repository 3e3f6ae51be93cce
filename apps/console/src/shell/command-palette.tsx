import { lazy, Suspense, useEffect, useState } from 'react';

const OPEN = 'tollgate:palette';

/** Few views use it, so its script is no part of the first one: it loads when Ctrl or Cmd goes down or the button is pointed at. */
export const loadPalette = () => import('./palette.tsx');
const Palette = lazy(async () => ({ default: (await loadPalette()).Palette }));

export function openPalette(): void {
  window.dispatchEvent(new Event(OPEN));
}

/** Ctrl K or Cmd K opens the palette. */
export function CommandPalette({ isAdmin }: { isAdmin: boolean }) {
  const [isOpen, setOpen] = useState<boolean>();
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Control' || event.key === 'Meta') void loadPalette();
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen((wasOpen) => !wasOpen);
    };
    const onOpen = (): void => setOpen(true);
    window.addEventListener('keydown', onKey);
    window.addEventListener(OPEN, onOpen);
    return () => {
      window.removeEventListener('keydown', onKey);
      window.removeEventListener(OPEN, onOpen);
    };
  }, []);
  if (isOpen === undefined) return null;
  return (
    <Suspense fallback={null}>
      <Palette isAdmin={isAdmin} isOpen={isOpen} onOpenChange={setOpen} />
    </Suspense>
  );
}
