import { Autocomplete } from '@base-ui/react/autocomplete';
import { Dialog } from '@base-ui/react/dialog';
import { useNavigate } from '@tanstack/react-router';
import { useLayoutEffect, useState } from 'react';
import { useWords } from '../words/words.ts';
import { earlyKeys, endEarlyKeys } from './early-keys.ts';
import { useFindings, type Finding } from './findings.ts';

/** Finds pages, models, keys, users and requests by name or id. */
export function Palette({
  isAdmin,
  isOpen,
  onOpenChange,
}: {
  isAdmin: boolean;
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
}) {
  const { shell } = useWords();
  return (
    <Dialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="enters fixed inset-0 z-40 bg-veil" />
        <Dialog.Popup className="enters fixed top-[12dvh] left-1/2 z-40 w-[min(560px,calc(100vw-24px))] -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-raised shadow-float">
          <Dialog.Title className="sr-only">{shell.palette}</Dialog.Title>
          <Finder isAdmin={isAdmin} onDone={() => onOpenChange(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

const REQUEST_ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

function Finder({ isAdmin, onDone }: { isAdmin: boolean; onDone: () => void }) {
  const { shell } = useWords();
  const navigate = useNavigate();
  const [text, setText] = useState(earlyKeys);
  useLayoutEffect(endEarlyKeys, []);
  const findings = useFindings(text, isAdmin);
  const go = ({ to }: Finding): void => {
    onDone();
    void navigate({ to });
  };
  return (
    <Autocomplete.Root
      open
      inline
      items={findings}
      value={text}
      onValueChange={setText}
      itemToStringValue={({ label }: Finding) => label}
      mode="none"
      autoHighlight="always"
    >
      <Autocomplete.Input
        // The field has the focus at once, not a frame later: what is typed right after Ctrl K must arrive here.
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- a dialog whose one purpose is this field
        autoFocus
        aria-label={shell.palette}
        placeholder={shell.palettePlaceholder}
        className="h-12 w-full border-b border-line bg-transparent px-4 text-lead outline-none placeholder:text-text-3"
      />
      <Autocomplete.Empty className="px-4 text-text-3 [&:not(:empty)]:py-6 [&:not(:empty)]:text-center">
        {REQUEST_ID.test(text.trim()) ? shell.paletteNoRequest : shell.paletteEmpty}
      </Autocomplete.Empty>
      <Findings onChoose={go} />
    </Autocomplete.Root>
  );
}

function Findings({ onChoose }: { onChoose: (finding: Finding) => void }) {
  return (
    <Autocomplete.List className="max-h-[50dvh] overflow-y-auto p-1 [&:empty]:p-0">
      {(finding: Finding) => (
        <Autocomplete.Item
          key={finding.to}
          value={finding}
          onClick={() => onChoose(finding)}
          className="flex h-9 cursor-default items-center gap-3 rounded-sm px-3 outline-none data-[highlighted]:bg-sunken"
        >
          <span className="foreign min-w-0 flex-1 truncate">{finding.label}</span>
          <span className="shrink-0 text-tiny text-text-3">{finding.kind}</span>
        </Autocomplete.Item>
      )}
    </Autocomplete.List>
  );
}
