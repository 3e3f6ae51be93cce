import { Suspense, useState, type ReactNode } from 'react';

/** Loads its content when it opens first, and keeps it from then on, so that it closes as it opened. */
export function OnceOpened({ isOpen, children }: { isOpen: boolean; children: ReactNode }) {
  const [wasOpened, setWasOpened] = useState(isOpen);
  if (isOpen && !wasOpened) setWasOpened(true);
  return wasOpened && <Suspense fallback={null}>{children}</Suspense>;
}
