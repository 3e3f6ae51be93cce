import { lazy, Suspense, useEffect, useState } from 'react';
import { NOTICE } from '../browser/notices.ts';

const ToastStack = lazy(async () => ({
  default: (await import('./toast-stack.tsx')).ToastStack,
}));

/** Shows notices. The code loads with the first notice. */
export function Toasts() {
  const [isNeeded, setNeeded] = useState(false);
  useEffect(() => {
    const need = (): void => setNeeded(true);
    window.addEventListener(NOTICE, need);
    return () => window.removeEventListener(NOTICE, need);
  }, []);
  return (
    isNeeded && (
      <Suspense fallback={null}>
        <ToastStack />
      </Suspense>
    )
  );
}
