import { Check, Copy } from './icons.tsx';
import { useState } from 'react';
import { notify } from '../browser/notices.ts';
import { useWords } from '../words/words.ts';
import { Button, IconButton } from './forms/button.tsx';

const SHOWN_MS = 1_500;

function useCopy(text: string): { isCopied: boolean; copy: () => void } {
  const { general } = useWords();
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void writeClipboard(text).then((isDone) => {
      if (!isDone) return notify({ title: general.copyFailed, isBad: true });
      setCopied(true);
      setTimeout(() => setCopied(false), SHOWN_MS);
    });
  };
  return { isCopied, copy };
}

/** Writes to the clipboard. Over plain HTTP on another host browsers have no clipboard API; the old way still works there. */
async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'fixed top-0 left-0 opacity-0';
    document.body.append(area);
    area.select();
    const isDone = document.execCommand('copy');
    area.remove();
    return isDone;
  }
}

/** Shows an icon that copies `text`. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const { general } = useWords();
  const { isCopied, copy } = useCopy(text);
  return (
    <IconButton
      label={isCopied ? general.copied : `${general.copy}: ${label}`}
      className="size-6"
      onClick={copy}
    >
      {isCopied ? (
        <Check aria-hidden className="size-3.5 text-good" />
      ) : (
        <Copy aria-hidden className="size-3.5" />
      )}
    </IconButton>
  );
}

/** Copies a secret that is shown once; it is the main button there. */
export function CopyMainButton({ text, label }: { text: string; label: string }) {
  const { general } = useWords();
  const { isCopied, copy } = useCopy(text);
  return (
    <Button
      look="primary"
      onClick={copy}
      icon={
        isCopied ? (
          <Check aria-hidden className="size-4" />
        ) : (
          <Copy aria-hidden className="size-4" />
        )
      }
    >
      {isCopied ? general.copied : label}
    </Button>
  );
}

/** Shows an id or a name of machines, in full, with a button that copies it. */
export function CopyText({ text, label }: { text: string; label: string }) {
  return (
    <span className="inline-flex max-w-full min-w-0 items-center gap-0.5">
      <code className="foreign min-w-0">{text}</code>
      <CopyButton text={text} label={label} />
    </span>
  );
}
