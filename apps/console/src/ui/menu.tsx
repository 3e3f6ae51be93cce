import { Menu as Base } from '@base-ui/react/menu';
import type { ReactElement, ReactNode } from 'react';

export const MENU_POPUP =
  'enters min-w-44 rounded-md border border-line bg-raised p-1 shadow-float outline-none';
const ITEM =
  'flex h-8 cursor-default items-center gap-2 rounded-sm px-2 outline-none select-none data-[highlighted]:bg-sunken data-[disabled]:text-text-3';

export interface MenuAct {
  label: string;
  icon?: ReactNode;
  isDanger?: boolean;
  onAct: () => void;
}

/** Offers acts on one thing, behind one button. */
export function Menu({ trigger, acts }: { trigger: ReactElement; acts: readonly MenuAct[] }) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger as ReactElement<Record<string, unknown>>} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="end" className="z-40">
          <Base.Popup className={MENU_POPUP}>
            {acts.map(({ label, icon, isDanger = false, onAct }) => (
              <Base.Item
                key={label}
                onClick={onAct}
                className={`${ITEM} ${isDanger ? 'text-bad' : ''}`}
              >
                {icon}
                {label}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
