import { Tooltip as Base } from '@base-ui/react/tooltip';
import type { ReactElement, ReactNode } from 'react';

const DELAY_MS = 300;

export function TooltipProvider({ children }: { children: ReactNode }) {
  return <Base.Provider delay={DELAY_MS}>{children}</Base.Provider>;
}

/** Says more about the element that is pointed at or focused, and nothing while it has no text. It is never the only place where something is said. */
export function Tooltip({ text, children }: { text: ReactNode; children: ReactElement }) {
  return (
    <Base.Root disabled={text === undefined}>
      <Base.Trigger render={children as ReactElement<Record<string, unknown>>} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} className="z-40">
          <Base.Popup className="enters foreign max-w-72 rounded-md bg-text px-2 py-1 text-table text-bg">
            {text}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
