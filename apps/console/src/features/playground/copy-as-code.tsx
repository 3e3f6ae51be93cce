import { Code } from '../../ui/icons.tsx';
import { useState } from 'react';
import { requestOf } from '../../api/playground.ts';
import { GATEWAY } from '../../paths.ts';
import { Button } from '../../ui/forms/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { useWords } from '../../words/words.ts';
import type { Choice, Turn } from './use-conversation.ts';

/** Shows the conversation as a command for a shell. */
export function CopyAsCode({ choice, turns }: { choice: Choice; turns: readonly Turn[] }) {
  const { playground } = useWords();
  const [isOpen, setOpen] = useState(false);
  const messages = turns
    .filter(({ content }) => content !== '')
    .map(({ role, content }) => ({ role, content }));
  const { path, body } = requestOf({ ...choice, ...choice.settings, messages });
  const code = `curl -N ${GATEWAY}${path} \\
  -H "Authorization: Bearer $TOLLGATE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d ${shellQuote(JSON.stringify(body, null, 2))}`;
  return (
    <>
      <Button
        size="small"
        icon={<Code aria-hidden className="size-4" />}
        onClick={() => setOpen(true)}
      >
        {playground.copyAsCode}
      </Button>
      <Dialog
        title={playground.copyAsCode}
        width="wide"
        isOpen={isOpen}
        onClose={() => setOpen(false)}
      >
        {() => <CodeBlock code={code} label={playground.copyAsCode} />}
      </Dialog>
    </>
  );
}

/** Quotes a text for a shell, so that text that people typed cannot end its quotes. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
