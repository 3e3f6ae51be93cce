import { SendHorizontal, Square } from '../../ui/icons.tsx';
import { Button } from '../../ui/forms/button.tsx';
import { useWords } from '../../words/words.ts';

interface ComposerProps {
  draft: string;
  onDraft: (text: string) => void;
  isRunning: boolean;
  onSend: () => void;
  onStop: () => void;
}

/** Enter sends, Shift and Enter begins a line. */
export function Composer({ draft, onDraft, isRunning, onSend, onStop }: ComposerProps) {
  const { playground } = useWords();
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      <div className="flex items-end gap-2">
        <textarea
          aria-label={playground.message}
          placeholder={playground.placeholder}
          rows={3}
          value={draft}
          onChange={(event) => onDraft(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            onSend();
          }}
          className="min-w-0 flex-1 rounded-md border border-line-strong bg-surface px-3 py-2 text-body placeholder:text-text-3 hover:border-text-3"
        />
        <SendOrStop isRunning={isRunning} onStop={onStop} />
      </div>
      <p className="text-table text-text-3">{playground.keyNote}</p>
    </form>
  );
}

function SendOrStop({ isRunning, onStop }: Pick<ComposerProps, 'isRunning' | 'onStop'>) {
  const { playground } = useWords();
  return isRunning ? (
    <Button icon={<Square aria-hidden className="size-4" />} onClick={onStop}>
      {playground.stop}
    </Button>
  ) : (
    <Button type="submit" look="primary" icon={<SendHorizontal aria-hidden className="size-4" />}>
      {playground.send}
    </Button>
  );
}
