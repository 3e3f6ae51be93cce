import { Tabs as Base } from '@base-ui/react/tabs';
import { Suspense, type ReactNode } from 'react';

export interface Tab {
  id: string;
  label: string;
  content: ReactNode;
}

/** The open tab is the page's to remember: in the address. */
export function Tabs({
  tabs,
  open,
  onOpen,
}: {
  tabs: readonly Tab[];
  open: string;
  onOpen: (id: string) => void;
}) {
  return (
    <Base.Root value={open} onValueChange={(value) => onOpen(String(value))}>
      <Base.List className="flex gap-4 overflow-x-auto border-b border-line">
        {tabs.map(({ id, label }) => (
          <Base.Tab
            key={id}
            value={id}
            className="-mb-px border-b-2 border-transparent px-0.5 pt-1 pb-2 font-medium whitespace-nowrap text-text-2 -outline-offset-2 hover:text-text data-[active]:border-accent data-[active]:text-text"
          >
            {label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map(({ id, content }) => (
        <Base.Panel key={id} value={id} className="flex flex-col gap-5 pt-5 outline-offset-4">
          <Suspense fallback={null}>{content}</Suspense>
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
