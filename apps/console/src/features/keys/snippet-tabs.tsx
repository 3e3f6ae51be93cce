import { useState } from 'react';
import { GATEWAY } from '../../paths.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { useWords } from '../../words/words.ts';
import { SNIPPETS, snippetOf } from './snippets.ts';

/** Shows the same first call in each client's words. */
export function SnippetTabs({ secret, model }: { secret: string; model: string | undefined }) {
  const { keys } = useWords();
  const [open, setOpen] = useState<string>('curl');
  return (
    <Tabs
      open={open}
      onOpen={setOpen}
      tabs={SNIPPETS.map((name) => ({
        id: name,
        label: keys.snippets[name],
        content: (
          <CodeBlock
            label={keys.snippets[name]}
            code={snippetOf(name, {
              gateway: GATEWAY,
              secret,
              model: model ?? keys.snippetModel,
            })}
          />
        ),
      }))}
    />
  );
}
