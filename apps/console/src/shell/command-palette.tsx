import { lazy, Suspense, useEffect, useEffectEvent, useRef, useState } from 'react';
import { endEarlyKeys, isEarlyKey, keepEarlyKeys } from './early-keys.ts';

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
  const isShown = useRef(false);
  const show = (next: boolean): void => {
    isShown.current = next;
    if (next) keepEarlyKeys();
    else endEarlyKeys();
    // Keys must not wait for a palette that cannot come.
    if (next) void loadPalette().catch(endEarlyKeys);
    setOpen(next);
  };
  const hear = useEffectEvent((event: KeyboardEvent): void => {
    if (event.key === 'Control' || event.key === 'Meta') void loadPalette();
    const isToggle = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
    if (isToggle) show(!isShown.current);
    else if (!isEarlyKey(event)) return;
    else if (event.key === 'Escape') show(false);
    event.preventDefault();
  });
  const open = useEffectEvent(() => show(true));
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => hear(event);
    const onOpen = (): void => open();
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
      <Palette isAdmin={isAdmin} isOpen={isOpen} onOpenChange={show} />
    </Suspense>
  );
}
